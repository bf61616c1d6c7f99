import type { Agent, Instant, Page, SessionSummary } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { err, ok, okAsync, safeTry } from 'neverthrow'
import { conversationPage, sessionPath } from './conversation.js'
import { agentIn, agentRef, idIn, pageOf, textIn, byActor } from '../parts/input.js'
import { AgentChoice, canListAgents, withKnownName } from '../known-agents.js'
import { show, showError } from '../parts/layout.js'
import type { ConsoleDeps, Env } from '../context.js'
import { BASE } from '../options.js'
import { Empty, Next, pathOf, Problem, refreshed, Status, Time } from '../parts/parts.js'
import { problemText } from '../parts/problem.js'
import { SendForm, sendFrom, type Draft } from './send-form.js'
import { need } from '../access/sign-in.js'

const MAX_AGENTS = 100
const NOTHING = okAsync({ data: [] })

export const sessionRoutes = (d: ConsoleDeps) => {
  const maySend = need('project:message')
  return new Hono<Env>()
    .get(`${BASE}/sessions`, maySend, (c) => sessionsPage(c, d))

    .post(`${BASE}/sessions`, maySend, async (c) => {
      const form = await c.req.parseBody()
      const agent = agentIn(textIn(form, 'agent'))
      const sent = await sendFrom(
        d,
        { projectId: c.get('apiKey').projectId, agent, sessionId: textIn(form, 'sessionId') },
        form,
      )
      if (sent.problem !== undefined) return sessionsPage(c, d, sent)
      return c.redirect(sessionPath(agent, sent.sessionId), 303)
    })

    .get(`${BASE}/sessions/:agent`, maySend, (c) => conversationPage(c, d))

    .post(`${BASE}/sessions/:agent`, maySend, async (c) => {
      const ref = agentRef(c)
      const sessionId = c.req.query('session') ?? ''
      const sent = await sendFrom(d, { ...ref, sessionId }, await c.req.parseBody())
      if (sent.problem !== undefined) return conversationPage(c, d, sent)
      return c.redirect(`${sessionPath(ref.agent, sessionId)}#end`, 303)
    })

    .post(`${BASE}/messages/:agent/:message/:action{retry|cancel}`, maySend, async (c) => {
      const isRetry = c.req.param('action') === 'retry'
      const ref = byActor(c, { ...agentRef(c), messageId: idIn(c.req.param('message')) })
      const { messages } = d.service
      const done = await (isRetry ? messages.retry(ref) : messages.cancel(ref))
      if (done.isErr()) return showError(c, done.error)
      return c.redirect(
        `${sessionPath(ref.agent, done.value.sessionId)}&notice=${isRetry ? 'retried' : 'cancelled'}`,
        303,
      )
    })
}

type Chosen = { readonly agent: Agent; readonly sessions: Page<SessionSummary> }
type SessionsData = { readonly agents: readonly Agent[]; readonly chosen?: Chosen }

/**
 * Reads the agents that the API key can list, and the sessions of the requested agent. By default
 * it is the agent with the newest message, or else the newest agent.
 */
const readSessions = (c: Context<Env>, { service }: ConsoleDeps, requested: string | undefined) =>
  safeTry(async function* () {
    const { projectId } = c.get('apiKey')
    const { data: agents } = yield* canListAgents(c)
      ? service.agents.list(projectId, { limit: MAX_AGENTS })
      : NOTHING
    const isOpen = requested === undefined && canListAgents(c)
    const [newest] = isOpen
      ? (yield* service.messages.search({ projectId, page: { limit: 1 } })).data
      : []
    const name = requested ?? newest?.message.agentId ?? agents[0]?.name
    if (name === undefined) return ok<SessionsData>({ agents })
    const agent = yield* service.agents
      .get({ projectId, agent: agentIn(name) })
      .map<Agent | undefined>((found) => found)
      .orElse((error) => (error.kind === 'agent_not_found' ? ok(undefined) : err(error)))
    if (!agent) return ok<SessionsData>({ agents })
    const sessions = yield* service.sessions.list({ projectId, agent: agent.id, page: pageOf(c) })
    return ok<SessionsData>({ agents, chosen: { agent: withKnownName(c, agent, name), sessions } })
  })

async function sessionsPage(c: Context<Env>, d: ConsoleDeps, draft?: Draft) {
  const requested = c.req.query('agent') ?? draft?.agent
  const found = await readSessions(c, d, requested)
  if (found.isErr()) return showError(c, found.error)
  const { agents, chosen } = found.value
  const isMissing = requested !== undefined && !chosen
  return show(
    c,
    {
      title: 'Sessions',
      section: 'Sessions',
      status: isMissing ? 404 : draft?.problem === undefined ? 200 : 400,
    },
    <>
      <div class="heading">
        <h1>Sessions</h1>
        {(agents.length > 0 || !canListAgents(c)) && (
          <AgentChoice agents={agents} chosen={chosen?.agent} requested={requested} />
        )}
      </div>
      <Problem text={isMissing ? problemText({ kind: 'agent_not_found' }) : undefined} />
      {chosen ? (
        <SessionsOf c={c} {...chosen} draft={draft} now={d.service.now()} />
      ) : (
        <NoAgent canList={canListAgents(c)} />
      )}
    </>,
  )
}

type SessionsOfProps = Chosen & {
  readonly c: Context<Env>
  readonly draft: Draft | undefined
  readonly now: Instant
}

const SessionsOf = ({ c, agent, sessions, draft, now }: SessionsOfProps) => (
  <div class="columns">
    <div {...refreshed('live', 3_000, pathOf(c))}>
      <SessionTable agent={agent} sessions={sessions} now={now} />
      <Next c={c} cursor={sessions.nextCursor} />
    </div>
    <section class="card" aria-labelledby="send">
      <h2 id="send">Start a conversation with {agent.name}</h2>
      <SendForm
        action={`${BASE}/sessions?agent=${agent.name}`}
        agent={agent}
        draft={draft}
        session={sessions.data.length === 0 ? 'first' : ''}
      />
    </section>
  </div>
)

const NoAgent = ({ canList }: { readonly canList: boolean }) =>
  canList ? (
    <Empty title="No agents yet">
      <p>
        A session is a conversation with an agent. <a href={`${BASE}/agents`}>Go to the agents</a>.
      </p>
    </Empty>
  ) : (
    <Empty title="Choose an agent">
      <p>
        Your API key can send messages, but cannot list agents without <code>project:agents</code>.
        Enter the name of an agent above.
      </p>
    </Empty>
  )

function SessionTable({
  agent,
  sessions,
  now,
}: {
  readonly agent: Agent
  readonly sessions: Page<SessionSummary>
  readonly now: Instant
}) {
  if (sessions.data.length === 0) {
    return (
      <Empty title="No sessions yet">
        <p>
          A session is a conversation with an agent, under any name. Send a message to {agent.name}{' '}
          to start one.
        </p>
      </Empty>
    )
  }
  return (
    <div class="scroll card flush" role="region" aria-label="Sessions" tabindex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Session</th>
            <th scope="col">State</th>
            <th scope="col">Last message</th>
          </tr>
        </thead>
        <tbody>
          {sessions.data.map(({ sessionId, openCount, lastMessageAt }) => (
            <tr>
              <th scope="row" class="any">
                <a href={sessionPath(agent.name, sessionId)}>
                  <bdi>{sessionId}</bdi>
                </a>
              </th>
              <td data-label="State">
                {openCount === 0 ? (
                  <Status tone="idle">idle</Status>
                ) : (
                  <Status tone="busy">{openCount} open</Status>
                )}
              </td>
              <td data-label="Last message">
                <Time at={lastMessageAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
