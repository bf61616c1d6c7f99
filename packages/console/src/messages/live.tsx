import type { Agent } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { Turn } from './conversation.js'
import type { ConsoleDeps, Env } from '../context.js'
import { agentRef, sessionIn } from '../parts/input.js'
import { withKnownName } from '../known-agents.js'
import { showFound } from '../parts/layout.js'
import { LiveSession, versionOf, type LiveTurn } from './live-session.js'
import { BASE } from '../options.js'
import { need } from '../access/sign-in.js'
import { ViewContext, viewOf } from '../parts/zone.js'

/** Followers in this process. One more gets 204 and tries again later. */
const MOST_FOLLOWERS = 200
/** How soon a browser connects again after the end of a stream. */
const RETRY_MS = 200

/** Sends the changes of a session as server-sent events, each with the HTML of a message. */
export const liveRoutes = ({ service }: ConsoleDeps) => {
  let followers = 0
  const follow = (c: Context<Env>, found: Agent) => {
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
    const textOf = ({ message, partial }: LiveTurn): string => {
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
  return new Hono<Env>().get(`${BASE}/sessions/:agent/live`, need('project:message'), (c) =>
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
