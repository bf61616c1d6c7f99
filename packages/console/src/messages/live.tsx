import type { Agent, AnswerStream, Message, MessagingService } from '@org/agent-messaging-core'
import { orUndefined } from '@org/agent-messaging-core/host'
import { Turn, versionOf } from './conversation.js'
import { type ConsoleDeps, newRoutes, type PageRequest } from '../context.js'
import { agentRef, sessionIn } from '../parts/input.js'
import { withKnownName } from '../agents.js'
import { showFound } from '../parts/layout.js'
import { need } from '../access/sign-in.js'
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
    const textOf = ({ message, partial }: LiveTurn) => {
      const element: { toString(): unknown } = (
        <ViewContext.Provider value={viewOf(c)}>
          <Turn agent={agent} message={message} partial={partial} />
        </ViewContext.Provider>
      )
      const html = String(element.toString())
      const version = versionOf(message) + (partial === undefined ? '' : `.${partial.length}`)
      return `data: ${JSON.stringify({ id: message.id, version, html })}\n\n`
    }
    followers++
    const body = bytesOf(session.turns(), textOf, () => followers--)
    return c.body(body, 200, {
      'Content-Type': 'text/event-stream',
      'X-Accel-Buffering': 'no',
    })
  }
  return newRoutes().get('/sessions/:agent/live', need('messages.stream'), (c) =>
    showFound(c, service.agents.get(agentRef(c)), (agent) => follow(c, agent)),
  )
}

/** Reads the versions that the page shows: `id:version`, with commas between them. */
const knownIn = (text = ''): ReadonlyMap<string, string> =>
  new Map(
    text.split(',').map((one) => {
      const [id = '', version = ''] = one.split(':')
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
  const end = (): void => {
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

/** A message that has changed, or a longer part of its answer. */
export type LiveTurn = { readonly message: Message; readonly partial?: string }

type LiveSessionOptions = {
  readonly service: MessagingService
  readonly projectId: string
  /** The agent's id. */
  readonly agent: string
  readonly sessionId: string
  /** The versions that the reader shows, by message id. */
  readonly known: ReadonlyMap<string, string>
}

const POLL_MS = 500
/** After this time the browser connects again, which checks its session. */
const LIFETIME_MS = 10_000
/** The first look reads a page of messages. Later looks read the newest ones. */
const FIRST_LOOK = 50
const NEXT_LOOK = 5
/** The shortest pause between two parts of an answer. A long answer has longer pauses. */
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
        for (const message of messages) if (this.#isNews(message)) yield { message }
        await this.#follow(messages.find(({ state }) => state.kind === 'running'))
        yield* this.#partsUntil(performance.now() + POLL_MS)
      }
    } finally {
      await this.#leave()
    }
  }

  #isOver(): boolean {
    return performance.now() - this.#startedAt >= LIFETIME_MS
  }

  /** Returns the newest messages, oldest first. */
  async #newest(limit: number): Promise<Message[] | undefined> {
    const { service, projectId, agent, sessionId } = this.#options
    const found = service.messages.list({ projectId, agent, sessionId, limit })
    return (await orUndefined(found))?.data.toReversed()
  }

  #isNews(message: Message): boolean {
    const version = versionOf(message)
    if (this.#shown.get(message.id) === version) return false
    this.#shown.set(message.id, version)
    return true
  }

  async #follow(running: Message | undefined): Promise<void> {
    if (running === undefined || this.#answer !== undefined) return
    const { service, projectId, agent } = this.#options
    const opening = service.messages.stream({ projectId, agent, messageId: running.id })
    // With too many streams, the next looks show the answer when it is final.
    const answer = await orUndefined(opening)
    if (answer === undefined) return
    this.#running = running
    this.#answer = answer
    this.#next = undefined
    this.#text = ''
    this.#end = 0
  }

  /** Returns the parts of the running answer that come before `until`. */
  async *#partsUntil(until: number): AsyncGenerator<LiveTurn, void, undefined> {
    for (;;) {
      const left = until - performance.now()
      if (left <= 0) return
      if (this.#answer === undefined) {
        await sleep(left)
        return
      }
      this.#next ??= this.#answer.next()
      const timer = new AbortController()
      const late = sleep(left, undefined, { signal: timer.signal }).catch(() => undefined)
      const taken = await Promise.race([this.#next, late])
      timer.abort()
      if (taken === undefined) return
      this.#next = undefined
      if (taken.done === true) return this.#leave()
      const turn = this.#turnOf(taken.value)
      if (turn) yield turn
      if (turn?.partial !== undefined)
        await sleep(Math.max(PAUSE_MS, turn.partial.length / UNITS_PER_MS))
    }
  }

  #turnOf(event: NonNullable<Awaited<ReturnType<AnswerStream['next']>>['value']>) {
    switch (event.kind) {
      case 'heartbeat':
      case 'part':
        return undefined
      case 'state':
        this.#running = event.message
        this.#text = ''
        this.#end = 0
        return this.#isNews(event.message) ? { message: event.message } : undefined
      case 'chunk':
        // Earlier parts can be lost. Then the text starts in the middle.
        this.#text = event.offset === this.#end ? this.#text + event.text : `… ${event.text}`
        this.#end = event.offset + event.text.length
        return this.#running && { message: this.#running, partial: this.#text }
      case 'message':
        return this.#isNews(event.message) ? { message: event.message } : undefined
    }
  }

  async #leave(): Promise<void> {
    const answer = this.#answer
    this.#answer = undefined
    this.#running = undefined
    await answer?.return?.()
  }
}
