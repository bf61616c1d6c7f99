import { isAgentName, isFinal, isRetryable, isStorableText, toIso } from '@org/agent-messaging-core'
import type { Agent, Instant, Message, Page, SessionSummary } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { ok, safeTry } from 'neverthrow'
import { textIn } from './form.js'
import { show, showProblem } from './layout.js'
import { BASE, type ConsoleDeps, type Env } from './options.js'
import { Empty, Id, Next, pathOf, refreshed, Status, Time } from './parts.js'
import { idIn, pageOf } from './paging.js'
import { problemStatus, problemText } from './problem.js'
import { SendForm, sendFrom, type Draft } from './send-form.js'
import { need } from './sign-in.js'
import { messageTones } from './wording.js'

const AGENTS = 100
/** Of a conversation the newest so many are shown; the rest is behind a link. */
const MESSAGES = 50

const agentIn = (segment: string): string => (isAgentName(segment) ? segment : idIn(segment))
const sessionPath = (agent: string, sessionId: string): string => `${BASE}/sessions/${agent}/${encodeURIComponent(sessionId)}`

export const sessionRoutes = (d: ConsoleDeps) => {
  const maySend = need('project:message')
  return new Hono<Env>()
    .get(`${BASE}/sessions`, maySend, (c) => sessionsPage(c, d))

    .post(`${BASE}/sessions`, maySend, async (c) => {
      const form = await c.req.parseBody()
      const agent = agentIn(textIn(form, 'agent'))
      const sent = await sendFrom(d, { projectId: c.get('apiKey').projectId, agent, sessionId: textIn(form, 'sessionId') }, form)
      if (sent.problem !== undefined) return sessionsPage(c, d, sent)
      return c.redirect(sessionPath(agent, sent.sessionId), 303)
    })

    .get(`${BASE}/sessions/:agent/:session`, maySend, (c) => conversationPage(c, d))

    .post(`${BASE}/sessions/:agent/:session`, maySend, async (c) => {
      const agent = agentIn(c.req.param('agent'))
      const sessionId = c.req.param('session')
      const sent = await sendFrom(d, { projectId: c.get('apiKey').projectId, agent, sessionId }, await c.req.parseBody())
      if (sent.problem !== undefined) return conversationPage(c, d, sent)
      return c.redirect(`${sessionPath(agent, sessionId)}#end`, 303)
    })

    .post(`${BASE}/messages/:agent/:message/:action{retry|cancel}`, maySend, async (c) => {
      const { agent, message, action } = c.req.param()
      const ref = { projectId: c.get('apiKey').projectId, agent: agentIn(agent), messageId: idIn(message) }
      const done = await (action === 'retry' ? d.service.messages.retry(ref) : d.service.messages.cancel(ref))
      if (done.isErr()) return showProblem(c, problemStatus(done.error), problemText(done.error))
      return c.redirect(`${sessionPath(ref.agent, done.value.sessionId)}?notice=${action === 'retry' ? 'retried' : 'cancelled'}`, 303)
    })
}

async function sessionsPage(c: Context<Env>, { service }: ConsoleDeps, draft?: Draft) {
  const { projectId } = c.get('apiKey')
  const agents = await service.agents.list(projectId, { limit: AGENTS })
  if (agents.isErr()) return showProblem(c, problemStatus(agents.error), problemText(agents.error))
  const asked = c.req.query('agent') ?? draft?.agent
  const agent = agents.value.data.find(({ id, name }) => name === asked || id === asked) ?? agents.value.data[0]
  if (!agent) return showProblem(c, 404, 'There are no agents yet')
  const sessions = await service.sessions.list({ projectId, agent: agent.id, page: pageOf(c) })
  if (sessions.isErr()) return showProblem(c, problemStatus(sessions.error), problemText(sessions.error))
  return show(
    c,
    { title: 'Sessions', section: 'Sessions', status: draft?.problem === undefined ? 200 : 400 },
    <>
      <div class="heading">
        <h1>Sessions</h1>
        <AgentTabs agents={agents.value.data} chosen={agent} />
      </div>
      <div class="columns">
        <div {...refreshed('live', 3_000, pathOf(c))}>
          <SessionTable agent={agent} sessions={sessions.value} now={service.now()} />
          <Next c={c} cursor={sessions.value.nextCursor} />
        </div>
        <section class="card" aria-labelledby="send">
          <h2 id="send">Start a conversation with {agent.name}</h2>
          <SendForm action={`${BASE}/sessions?agent=${agent.name}`} agent={agent} draft={draft} withSession />
        </section>
      </div>
    </>,
  )
}

const AgentTabs = ({ agents, chosen }: { readonly agents: readonly Agent[]; readonly chosen: Agent }) => (
  <nav class="tabs" aria-label="Agents">
    {agents.map(({ id, name }) => (
      <a href={`${BASE}/sessions?agent=${name}`} aria-current={id === chosen.id ? 'true' : undefined}>
        {name}
      </a>
    ))}
  </nav>
)

function SessionTable({ agent, sessions, now }: { readonly agent: Agent; readonly sessions: Page<SessionSummary>; readonly now: Instant }) {
  if (sessions.data.length === 0) {
    return (
      <Empty title="No sessions yet">
        <p>A session is a conversation with an agent; its name is the caller’s choice. The first message to {agent.name} begins one.</p>
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
              <td>{openCount === 0 ? <Status tone="idle">idle</Status> : <Status tone="busy">{openCount} open</Status>}</td>
              <td>
                <Time at={lastMessageAt} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

async function conversationPage(c: Context<Env>, { service }: ConsoleDeps, draft?: Draft) {
  const { projectId } = c.get('apiKey')
  const name = agentIn(c.req.param('agent') ?? '')
  const sessionId = c.req.param('session') ?? ''
  const page = { ...pageOf(c), limit: MESSAGES }
  const found = await safeTry(async function* () {
    const agent = yield* service.agents.get({ projectId, agent: name })
    const messages = yield* service.messages.list({
      projectId,
      agent: agent.id,
      sessionId: isStorableText(sessionId) ? sessionId : '',
      page,
    })
    return ok({ agent, messages })
  })
  if (found.isErr()) return showProblem(c, problemStatus(found.error), problemText(found.error))
  const { agent, messages } = found.value
  if (messages.data.length === 0) return showProblem(c, 404, problemText({ kind: 'session_not_found' }))
  const isOpen = messages.data.some(({ state }) => !isFinal(state))
  return show(
    c,
    { title: sessionId, section: 'Sessions', status: draft?.problem === undefined ? 200 : 400 },
    <>
      <p class="crumbs">
        <a href={`${BASE}/sessions?agent=${agent.name}`}>{agent.name}</a> / session
      </p>
      <h1 class="long">{sessionId}</h1>
      <Next c={c} cursor={messages.nextCursor} words="Earlier" />
      <div role="group" aria-label="Conversation" class="conversation talk" {...refreshed('live', isOpen ? 1_000 : 5_000, pathOf(c))}>
        {messages.data.toReversed().map((message) => (
          <Exchange agent={agent} message={message} now={service.now()} />
        ))}
      </div>
      <p id="news" class="hidden" role="status" />
      <section class="card talk" id="end" aria-labelledby="send">
        <h2 id="send">Send a message</h2>
        <SendForm action={sessionPath(agent.name, sessionId)} agent={agent} draft={draft} />
      </section>
    </>,
  )
}

/** A message and what was answered: who said it, on whose behalf, and what came with it. */
function Exchange({ agent, message, now }: { readonly agent: Agent; readonly message: Message; readonly now: Instant }) {
  const { id, state, metadata, executionPrincipal: principal, attempt, createdAt } = message
  return (
    <article class="exchange" aria-label={`Message of ${toIso(createdAt)}`}>
      <div class="bubble asked">
        <p class="said">{message.message}</p>
        <p class="facts">
          <span>{principal.type === 'service' ? 'for the service' : <>for {principal.endUserId}</>}</span>
          <Time at={createdAt} now={now} />
          <Id id={id} />
        </p>
        {metadata && Object.keys(metadata).length > 0 && (
          <details>
            <summary>Metadata</summary>
            <pre tabindex={0}>{JSON.stringify(metadata, null, 2)}</pre>
          </details>
        )}
      </div>
      <div class={`bubble answered ${messageTones[state.kind]}`}>
        {state.kind === 'responded' && <p class="said">{state.response}</p>}
        {state.kind === 'failed' && (
          <p class="said">
            <code>{state.error.code}</code> {state.error.message}
          </p>
        )}
        <p class="facts">
          <Status tone={messageTones[state.kind]}>{state.kind}</Status>
          {state.kind === 'responded' && <span>in {state.responseTimeMs.toLocaleString('en')} ms</span>}
          {attempt > 1 && <span>run {attempt}</span>}
        </p>
        <MessageActions agent={agent} message={message} />
      </div>
    </article>
  )
}

function MessageActions({ agent, message: { id, state } }: { readonly agent: Agent; readonly message: Message }) {
  const action = isRetryable(state) ? 'retry' : isFinal(state) ? undefined : 'cancel'
  if (action === undefined) return null
  return (
    <form method="post" action={`${BASE}/messages/${agent.name}/${id}/${action}`}>
      <button id={`${action}-${id}`} class="small">
        {action === 'retry' ? 'Retry' : 'Cancel'}
      </button>
    </form>
  )
}
