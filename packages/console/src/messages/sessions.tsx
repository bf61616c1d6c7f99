import type { Agent, Page, SessionSummary } from '@org/agent-messaging-core'
import { unless } from '@org/agent-messaging-core/host'
import { conversationPage, SessionLink, sessionPath } from './conversation.js'
import { agentIn, agentRef, byActor, idIn, pageOf, projectIn, textIn } from '../parts/input.js'
import { AgentChoice, canListAgents, withKnownName } from '../agents.js'
import { show, showFound } from '../parts/layout.js'
import { type ConsoleDeps, newRoutes, type PageRequest } from '../context.js'
import { BASE } from '../options.js'
import { Problem, Status, Time } from '../parts/parts.js'
import { Empty, List, Live } from '../parts/table.js'
import { problemText } from '../parts/texts.js'
import { type Draft, SendForm, sendFrom } from './send-form.js'
import { need } from '../access/sign-in.js'

const MAX_AGENTS = 100

export const sessionRoutes = (d: ConsoleDeps) => {
  const maySend = need('project:message')
  return newRoutes()
    .get('/sessions', maySend, (c) => sessionsPage(c, d))

    .post('/sessions', maySend, async (c) => {
      const form = await c.req.parseBody()
      const agent = agentIn(textIn(form, 'agent'))
      const sent = await sendFrom(
        d,
        { projectId: projectIn(c), agent, sessionId: textIn(form, 'sessionId') },
        form,
      )
      if (sent.problem !== undefined) return sessionsPage(c, d, sent)
      return c.redirect(sessionPath(agent, sent.sessionId), 303)
    })

    .get('/sessions/:agent', maySend, (c) => conversationPage(c, d))

    .post('/sessions/:agent', maySend, async (c) => {
      const ref = agentRef(c)
      const sessionId = c.req.query('session') ?? ''
      const sent = await sendFrom(d, { ...ref, sessionId }, await c.req.parseBody())
      if (sent.problem !== undefined) return conversationPage(c, d, sent)
      return c.redirect(`${sessionPath(ref.agent, sessionId)}#end`, 303)
    })

    .post('/messages/:agent/:message/:action{retry|cancel}', maySend, (c) => {
      const isRetry = c.req.param('action') === 'retry'
      const ref = byActor(c, { ...agentRef(c), messageId: idIn(c.req.param('message')) })
      const { messages } = d.service
      const done = isRetry ? messages.retry(ref) : messages.cancel(ref)
      const notice = isRetry ? 'retried' : 'cancelled'
      return showFound(c, done, ({ sessionId }) =>
        c.redirect(`${sessionPath(ref.agent, sessionId)}&notice=${notice}`, 303),
      )
    })
}

type Chosen = { readonly agent: Agent; readonly sessions: Page<SessionSummary> }
type SessionsData = { readonly agents: readonly Agent[]; readonly chosen?: Chosen }

/**
 * Reads the agents that the API key can list, and the sessions of the requested agent. By default
 * it is the agent with the newest message, or else the newest agent.
 */
async function readSessions(
  c: PageRequest,
  { service }: ConsoleDeps,
  requested: string | undefined,
) {
  const projectId = projectIn(c)
  const agents = canListAgents(c)
    ? (await service.agents.list({ projectId, limit: MAX_AGENTS })).data
    : []
  const isOpen = requested === undefined && canListAgents(c)
  const [newest] = isOpen ? (await service.messages.search({ projectId, limit: 1 })).data : []
  const name = requested ?? newest?.message.agentId ?? agents[0]?.name
  if (name === undefined) return { agents } satisfies SessionsData
  const agent = await service.agents
    .get({ projectId, agent: agentIn(name) })
    .catch(unless('agent_not_found'))
  if (!agent) return { agents } satisfies SessionsData
  const sessions = await service.sessions.list({ projectId, agent: agent.id, ...pageOf(c) })
  return {
    agents,
    chosen: { agent: withKnownName(c, agent, name), sessions },
  } satisfies SessionsData
}

function sessionsPage(c: PageRequest, d: ConsoleDeps, draft?: Draft) {
  const requested = c.req.query('agent') ?? draft?.agent
  return showFound(c, readSessions(c, d, requested), ({ agents, chosen }) => {
    const isMissing = requested !== undefined && !chosen
    return show(
      c,
      {
        title: 'Sessions',
        section: 'Sessions',
        problem: draft?.problem,
        ...(isMissing && { status: 404 }),
      },
      <>
        <div class="heading">
          <h1>Sessions</h1>
          {(agents.length > 0 || !canListAgents(c)) && (
            <AgentChoice agents={agents} chosen={chosen?.agent} requested={requested} />
          )}
        </div>
        <Problem text={isMissing ? problemText({ kind: 'agent_not_found' }) : undefined} />
        {chosen ? <SessionsOf {...chosen} draft={draft} /> : <NoAgent canList={canListAgents(c)} />}
      </>,
    )
  })
}

const SessionsOf = ({ agent, sessions, draft }: Chosen & { readonly draft: Draft | undefined }) => (
  <div class="columns">
    <Live every={3_000}>
      <List
        label="Sessions"
        page={sessions}
        columns={{
          Session: {
            class: 'any',
            cell: ({ sessionId }) => <SessionLink agent={agent.name} sessionId={sessionId} />,
          },
          State: ({ openCount }) =>
            openCount === 0 ? (
              <Status tone="idle" text="idle" />
            ) : (
              <Status tone="busy" text={`${openCount} open`} />
            ),
          'Last message': ({ lastMessageAt }) => <Time at={lastMessageAt} />,
        }}
        empty={
          <Empty title="No sessions yet">
            <p>
              A session is a conversation with an agent, under any name. Send a message to{' '}
              {agent.name} to start one.
            </p>
          </Empty>
        }
      />
    </Live>
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
