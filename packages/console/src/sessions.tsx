import type { Agent, Instant, Page, SessionSummary } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { err, ok, okAsync, safeTry } from 'neverthrow'
import { conversationPage, sessionPath } from './conversation.js'
import { textIn } from './form.js'
import { AgentChoice, asKnown, maySeeAgents } from './known-agents.js'
import { show, showProblem } from './layout.js'
import type { ConsoleDeps, Env } from './context.js'
import { BASE } from './options.js'
import { Empty, Next, pathOf, Problem, refreshed, Status, Time } from './parts.js'
import { agentIn, idIn, pageOf } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { SendForm, sendFrom, type Draft } from './send-form.js'
import { need } from './sign-in.js'

const AGENTS = 100
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
      const agent = agentIn(c.req.param('agent'))
      const sessionId = c.req.query('session') ?? ''
      const sent = await sendFrom(
        d,
        { projectId: c.get('apiKey').projectId, agent, sessionId },
        await c.req.parseBody(),
      )
      if (sent.problem !== undefined) return conversationPage(c, d, sent)
      return c.redirect(`${sessionPath(agent, sessionId)}#end`, 303)
    })

    .post(`${BASE}/messages/:agent/:message/:action{retry|cancel}`, maySend, async (c) => {
      const { agent, message, action } = c.req.param()
      const ref = {
        projectId: c.get('apiKey').projectId,
        agent: agentIn(agent),
        messageId: idIn(message),
      }
      const done = await (action === 'retry'
        ? d.service.messages.retry(ref)
        : d.service.messages.cancel(ref))
      if (done.isErr()) return showProblem(c, problemStatus(done.error), problemText(done.error))
      return c.redirect(
        `${sessionPath(ref.agent, done.value.sessionId)}&notice=${action === 'retry' ? 'retried' : 'cancelled'}`,
        303,
      )
    })
}

type Chosen = { readonly agent: Agent; readonly sessions: Page<SessionSummary> }
type Seen = { readonly agents: readonly Agent[]; readonly chosen?: Chosen }

/** The agents that who asks may list, and the sessions of that which was asked for: of the newest when none was. */
const look = (c: Context<Env>, { service }: ConsoleDeps, called: string | undefined) =>
  safeTry(async function* () {
    const { projectId } = c.get('apiKey')
    const { data: agents } = yield* maySeeAgents(c)
      ? service.agents.list(projectId, { limit: AGENTS })
      : NOTHING
    const wanted = called ?? agents[0]?.name
    if (wanted === undefined) return ok<Seen>({ agents })
    const agent = yield* service.agents
      .get({ projectId, agent: agentIn(wanted) })
      .map<Agent | undefined>((found) => found)
      .orElse((error) => (error.kind === 'agent_not_found' ? ok(undefined) : err(error)))
    if (!agent) return ok<Seen>({ agents })
    const sessions = yield* service.sessions.list({ projectId, agent: agent.id, page: pageOf(c) })
    return ok<Seen>({ agents, chosen: { agent: asKnown(c, agent, wanted), sessions } })
  })

async function sessionsPage(c: Context<Env>, d: ConsoleDeps, draft?: Draft) {
  const called = c.req.query('agent') ?? draft?.agent
  const seen = await look(c, d, called)
  if (seen.isErr()) return showProblem(c, problemStatus(seen.error), problemText(seen.error))
  const { agents, chosen } = seen.value
  const isMissing = called !== undefined && !chosen
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
        {(agents.length > 0 || !maySeeAgents(c)) && (
          <AgentChoice agents={agents} chosen={chosen?.agent} called={called} />
        )}
      </div>
      <Problem text={isMissing ? problemText({ kind: 'agent_not_found' }) : undefined} />
      {chosen ? (
        <SessionsOf c={c} {...chosen} draft={draft} now={d.service.now()} />
      ) : (
        <NoAgent mayList={maySeeAgents(c)} />
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

const NoAgent = ({ mayList }: { readonly mayList: boolean }) =>
  mayList ? (
    <Empty title="No agent, no sessions">
      <p>
        A session is a conversation with an agent.{' '}
        <a href={`${BASE}/agents`}>See which agents there are</a>.
      </p>
    </Empty>
  ) : (
    <Empty title="With which agent?">
      <p>
        Your API key may talk to agents but not list them: for that it would need{' '}
        <code>project:agents</code>. Name the agent above, as in the API.
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
          A session is a conversation with an agent; its name is the caller’s choice. The first
          message to {agent.name} begins one.
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
              <th scope="row">
                <a href={sessionPath(agent.name, sessionId)}>{sessionId}</a>
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
