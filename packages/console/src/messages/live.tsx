import type { Agent, AnswerStream, Message, MessagingService } from '@org/agent-messaging-core'
import { orUndefined } from '@org/agent-messaging-core/host'
import { type Part, PartCollector, type PartEvent } from '@org/agent-messaging-core/runtime'
import { withParts } from './answer-parts.js'
import { Turn, versionOf } from './conversation.js'
import { type ConsoleDeps, newRoutes, type PageRequest } from '../context.js'
import { agentRef, sessionIn } from '../parts/input.js'
import { withKnownName } from '../agents.js'
import { need } from '../parts/layout.js'
import { ViewContext, viewOf } from '../parts/zone.js'
import { setTimeout as sleep } from 'node:timers/promises'

/** Followers in this process. One more gets 204 and tries again later. */
const MOST_FOLLOWERS = 200
/** How soon a browser connects again after the end of a stream. */
const RETRY_MS = 200

/** Sends the changes of a session as server-sent events, each with the HTML of a message. */
export const liveRoutes = ({ service }: ConsoleDeps) => {
  let followers = 0
  const follow = (c: PageRequest, found: Agent) => {
    if (c.req.method === 'HEAD' || followers >= MOST_FOLLOWERS) return c.body(null, 204)
    const ref = agentRef(c)
    const agent = withKnownName(c, found, ref.agent)
    const session = new LiveSession({
      service,
      projectId: ref.projectId,
      agent: agent.id,
      sessionId: sessionIn(c),
      known: knownIn(c.req.query('known')),
    })
    const textOf = ({ message, partial, version }: LiveTurn) => {
      const element: { toString(): unknown } = (
        <ViewContext.Provider value={viewOf(c)}>
          <Turn agent={agent} message={message} partial={partial} />
        </ViewContext.Provider>
      )
      const html = String(element.toString())
      return `data: ${JSON.stringify({ id: message.id, version, html })}\n\n`
    }
    followers++
    const body = bytesOf(session.turns(), textOf, () => followers--)
    return c.body(body, 200, {
      'Content-Type': 'text/event-stream',
      'X-Accel-Buffering': 'no',
    })
  }
  return newRoutes().get('/sessions/:agent/live', need('messages.stream'), async (c) =>
    follow(c, await service.agents.get(agentRef(c))),
  )
}

/** Reads the versions that the page shows: `id:version`, or `id:version~length`, with commas. */
const knownIn = (text = '') =>
  new Map(
    text.split(',').map((one) => {
      const [id = '', version = ''] = one.split(/[:~]/)
      return [id, version] as const
    }),
  )

/** Takes a turn only after the reader has taken the last one. */
function bytesOf(
  turns: AsyncGenerator<LiveTurn, void, undefined>,
  textOf: (turn: LiveTurn) => string,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isEnded = false
  const end = () => {
    if (!isEnded) onEnd()
    isEnded = true
  }
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`)),
      async pull(controller) {
        const { done, value } = await turns.next()
        if (!done) return controller.enqueue(encoder.encode(textOf(value)))
        end()
        controller.close()
      },
      async cancel() {
        end()
        await turns.return()
      },
    },
    { highWaterMark: 0 },
  )
}

/** A message that has changed, or more of its answer. */
export type LiveTurn = {
  readonly message: Message
  readonly version: string
  readonly partial?: readonly Part[]
}

type LiveSessionOptions = {
  readonly service: MessagingService
  readonly projectId: string
  /** The agent's id. */
  readonly agent: string
  readonly sessionId: string
  /** The versions that the reader shows, by message id. */
  readonly known: ReadonlyMap<string, string>
}

/** A wrong event changes nothing here. */
const newParts = () => new PartCollector(() => undefined)

const POLL_MS = 500
/** After this time the browser connects again, which checks its session. */
const LIFETIME_MS = 10_000
/** The first look reads a page of messages. Later looks read the newest ones. */
const FIRST_LOOK = 50
const NEXT_LOOK = 5
/** The shortest pause between two changes of an answer. A long answer has longer pauses. */
const PAUSE_MS = 100
const UNITS_PER_MS = 100

/**
 * Follows a session: its new messages, their states, and the answer of the running message as the
 * agent writes it. Looks for messages at an interval, because any process can accept them.
 */
class LiveSession {
  readonly #options: LiveSessionOptions
  readonly #shown: Map<string, string>
  readonly #startedAt = performance.now()
  /** The stream of the running message, and the request for its next event. */
  #answer: AnswerStream | undefined
  #next: ReturnType<AnswerStream['next']> | undefined
  #running: Message | undefined
  #text = ''
  /** The offset behind `#text`. */
  #end = 0
  #parts = newParts()
  /** The characters that the agent has emitted. */
  #length = 0
  #isChanged = false
  /** The reader gets no change of the answer before this time. */
  #nextAt = 0

  constructor(options: LiveSessionOptions) {
    this.#options = options
    this.#shown = new Map(options.known)
  }

  /** Returns what has changed, until the lifetime is over or a read fails. */
  async *turns(): AsyncGenerator<LiveTurn, void, undefined> {
    try {
      for (let limit = FIRST_LOOK; !this.#isOver(); limit = NEXT_LOOK) {
        const messages = await this.#newest(limit)
        if (messages === undefined) return
        for (const message of messages) {
          const news = this.#newsOf(message)
          if (news) yield { ...news, message: await withParts(this.#options.service, message) }
        }
        await this.#follow(messages.find(({ state }) => state.kind === 'running'))
        yield* this.#answerUntil(performance.now() + POLL_MS)
      }
    } finally {
      await this.#leave()
    }
  }

  #isOver() {
    return performance.now() - this.#startedAt >= LIFETIME_MS
  }

  /** Returns the newest messages, oldest first. */
  async #newest(limit: number): Promise<Message[] | undefined> {
    const { service, projectId, agent, sessionId } = this.#options
    const found = service.messages.list({ projectId, agent, sessionId, limit })
    return (await orUndefined(found))?.data.toReversed()
  }

  #newsOf(message: Message): LiveTurn | undefined {
    const version = versionOf(message)
    if (this.#shown.get(message.id) === version) return undefined
    this.#shown.set(message.id, version)
    return { message, version }
  }

  async #follow(running: Message | undefined) {
    if (running === undefined || this.#answer !== undefined) return
    const { service, projectId, agent } = this.#options
    const opening = service.messages.stream({ projectId, agent, messageId: running.id })
    // With too many streams, the next looks show the answer when it is final.
    const answer = await orUndefined(opening)
    if (answer === undefined) return
    this.#running = running
    this.#answer = answer
    this.#next = undefined
    // What was emitted before comes at once.
    this.#nextAt = performance.now() + PAUSE_MS
    this.#begin()
  }

  #begin() {
    this.#text = ''
    this.#end = 0
    this.#length = 0
    this.#parts = newParts()
    this.#isChanged = false
  }

  /** Returns the running answer each time that there is more of it, until `until`. */
  async *#answerUntil(until: number): AsyncGenerator<LiveTurn, void, undefined> {
    for (let now = performance.now(); now < until; now = performance.now()) {
      if (this.#answer === undefined) {
        await sleep(until - now)
        return
      }
      if (this.#isChanged && now >= this.#nextAt) {
        const turn = this.#partialTurn()
        if (turn) yield turn
        this.#nextAt = performance.now() + Math.max(PAUSE_MS, this.#length / UNITS_PER_MS)
        continue
      }
      this.#next ??= this.#answer.next()
      const timer = new AbortController()
      const left = Math.min(until, this.#isChanged ? this.#nextAt : until) - now
      const late = sleep(left, undefined, { signal: timer.signal }).catch(() => undefined)
      const taken = await Promise.race([this.#next, late])
      timer.abort()
      if (taken === undefined) continue
      this.#next = undefined
      if (taken.done === true) return this.#leave()
      const turn = this.#take(taken.value)
      if (turn) yield turn
    }
  }

  #take(event: NonNullable<Awaited<ReturnType<AnswerStream['next']>>['value']>) {
    switch (event.kind) {
      case 'heartbeat':
        return undefined
      case 'state':
        this.#running = event.message
        this.#begin()
        return this.#newsOf(event.message)
      case 'chunk':
        // Earlier pieces can be lost. Then the text starts in the middle.
        if (event.offset !== this.#end) {
          this.#begin()
          this.#add('… ')
        }
        this.#add(event.text)
        this.#end = event.offset + event.text.length
        return undefined
      case 'part':
        return this.#add(event.part)
      case 'message':
        return this.#newsOf(event.message)
    }
  }

  #add(emitted: string | PartEvent): undefined {
    this.#parts.take(emitted)
    if (typeof emitted === 'string') this.#text += emitted
    this.#length += JSON.stringify(emitted).length
    this.#isChanged = true
  }

  #partialTurn(): LiveTurn | undefined {
    this.#isChanged = false
    const message = this.#running
    const text = { type: 'text', text: this.#text } as const
    const partial = this.#parts.finish(this.#text)?.parts ?? [text]
    return message && { message, partial, version: `${versionOf(message)}~${this.#length}` }
  }

  async #leave() {
    const answer = this.#answer
    this.#answer = undefined
    this.#running = undefined
    await answer?.return?.()
  }
}
