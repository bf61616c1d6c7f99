import type { Agent, Page, SessionSummary } from '@org/agent-messaging-core'
import { MAX_SEARCHED_TEXT, MESSAGE_STATES, unless } from '@org/agent-messaging-core/host'
import { conversationPage, SessionLink, sessionPath } from './conversation.js'
import { agentIn, agentRef, byActor, can, idIn, pageOf, projectIn, textIn } from '../parts/input.js'
import { agentField, agentNames, type AgentNames, canListAgents, withKnownName } from '../agents.js'
import { FilterForm, Periods, TIME_RANGE } from '../parts/fields.js'
import { need } from '../parts/layout.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { Problem, Status, Card, Tabs } from '../parts/parts.js'
import { Empty, listPage } from '../parts/table.js'
import { problemText } from '../parts/texts.js'
import { type Draft, SendForm, sendFrom } from './send-form.js'
import {
  CONVERSATIONS,
  messageColumns,
  messageFilterIn,
  messagesPath,
  searchOf,
  SESSIONS,
  sessionsPath,
  type MessageFilter,
} from './message-table.js'
import { retryPath } from './retry-failed.js'
import { zoneOf } from '../parts/zone.js'

export const sessionRoutes = (d: ConsoleDeps) => {
  const maySee = need('messages.list')
  const maySend = need('messages.send')
  return newRoutes()
    .get('/conversations', maySee, (c) => messagesPage(c, d))

    .get('/conversations/sessions', maySee, (c) => sessionsPage(c, d))

    .post('/conversations/sessions', maySend, async (c) => {
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

    .get('/sessions/:agent', maySee, (c) => conversationPage(c, d))

    .post('/sessions/:agent', maySend, async (c) => {
      const ref = agentRef(c)
      const sessionId = c.req.query('session') ?? ''
      const sent = await sendFrom(d, { ...ref, sessionId }, await c.req.parseBody())
      if (sent.problem !== undefined) return conversationPage(c, d, sent)
      return c.redirect(`${sessionPath(ref.agent, sessionId)}#end`, 303)
    })

    .post('/messages/:agent/:message/:action{retry|cancel}', maySend, async (c) => {
      const isRetry = c.req.param('action') === 'retry'
      const ref = byActor(c, { ...agentRef(c), messageId: idIn(c.req.param('message')) })
      const { messages } = d.service
      const { sessionId } = await (isRetry ? messages.retry(ref) : messages.cancel(ref))
      const notice = isRetry ? 'retried' : 'cancelled'
      return c.redirect(`${sessionPath(ref.agent, sessionId)}&notice=${notice}`, 303)
    })
}

type Chosen = { readonly agent: Agent; readonly sessions: Page<SessionSummary> }
type SessionsData = { readonly names: AgentNames; readonly chosen?: Chosen }

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
  const names = await agentNames(c, service)
  const isOpen = requested === undefined && canListAgents(c)
  const [newest] = isOpen ? (await service.messages.search({ projectId, limit: 1 })).data : []
  const name = requested ?? newest?.message.agentId ?? [...names.keys()][0]
  if (name === undefined) return { names }
  const agent = await service.agents
    .get({ projectId, agent: agentIn(name) })
    .catch(unless('agent_not_found'))
  if (!agent) return { names }
  const sessions = await service.sessions.list({ projectId, agent: agent.id, ...pageOf(c) })
  return {
    names,
    chosen: { agent: withKnownName(c, agent, name), sessions },
  }
}

type ViewsProps = { readonly isSessions: boolean; readonly agent: string | undefined }

/** Switches between the messages of all agents or of one, and the sessions of one. */
const Views = ({ isSessions, agent }: ViewsProps) => (
  <Tabs
    label="View"
    tabs={[
      ['Messages', messagesPath({ agent }), !isSessions],
      ['Sessions', sessionsPath(agent), isSessions],
    ]}
  />
)

/** Leads to the retry of the listed messages, if it can select exactly these. */
function RetryAll({ filter: { state, agent, from, to, ...others } }: { filter: MessageFilter }) {
  const isSelected = Object.values(others).every((value) => value === undefined)
  if (state !== 'failed' || agent === undefined || !isSelected) return null
  return (
    <a class="button" href={retryPath(agent, { from, to })}>
      Retry all of these
    </a>
  )
}

const PAGE = { title: 'Conversations', section: 'Conversations' }

async function messagesPage(c: PageRequest, { service }: ConsoleDeps) {
  const filter = messageFilterIn(c.req.query(), zoneOf(c))
  const search = { ...searchOf(projectIn(c), filter), ...pageOf(c), abort: c.req.raw.signal }
  const page = await service.messages.search(search)
  const names = await agentNames(c, service)
  const agent = filter.agent && (names.get(filter.agent) ?? filter.agent)
  return listPage(c, {
    ...PAGE,
    heading: filter.state === 'failed' ? 'Failed messages' : PAGE.title,
    label: 'Messages',
    action: (
      <>
        {page.data.length > 0 && !c.get('portal') && can(c, 'messages.retryFailed') && (
          <RetryAll filter={filter} />
        )}
        <Views isSessions={false} agent={agent} />
      </>
    ),
    before: (
      <>
        <FilterForm
          path={CONVERSATIONS}
          fields={{ agent: { ...agentField(names), any: 'any' }, ...FIELDS }}
          values={{ ...filter, agent }}
        />
        <Periods />
      </>
    ),
    // A text is searched in many rows, so its result is not refreshed.
    every: filter.text === undefined && 5_000,
    page,
    columns: messageColumns(names),
    empty: Object.values(filter).some((value) => value !== undefined) ? (
      <Empty title="No message matches">
        <p>
          Change the filter, or <a href={CONVERSATIONS}>show all messages</a>.
        </p>
      </Empty>
    ) : (
      <Empty title="No messages yet">
        <p>
          <a href={sessionsPath()}>Send a message</a> to an agent.
        </p>
      </Empty>
    ),
  })
}

const FIELDS = {
  state: { label: 'State', any: 'any', choices: MESSAGE_STATES },
  session: { label: 'Session', autocomplete: 'off' },
  user: { label: 'End user', autocomplete: 'off' },
  correlation: { label: 'Correlation ID', autocomplete: 'off' },
  text: { label: 'Text', maxlength: MAX_SEARCHED_TEXT, autocomplete: 'off' },
  ...TIME_RANGE,
}

const NO_SESSIONS: Page<SessionSummary> = { data: [], nextCursor: null }

async function sessionsPage(c: PageRequest, d: ConsoleDeps, draft?: Draft) {
  const requested = c.req.query('agent') || draft?.agent
  const { names, chosen }: SessionsData = await readSessions(c, d, requested)
  const isMissing = requested !== undefined && !chosen
  return listPage(c, {
    ...PAGE,
    label: 'Sessions',
    problem: draft?.problem,
    ...(isMissing && { status: 404 as const }),
    action: <Views isSessions agent={chosen?.agent.name} />,
    before: (
      <>
        <FilterForm
          path={SESSIONS}
          fields={{ agent: agentField(names) }}
          values={{ agent: chosen?.agent.name ?? requested }}
        />
        <Problem text={isMissing ? problemText({ kind: 'agent_not_found' }) : undefined} />
      </>
    ),
    every: 3_000,
    page: chosen?.sessions ?? NO_SESSIONS,
    columns: {
      Session: {
        class: 'any',
        cell: ({ sessionId }) => (
          <SessionLink agent={chosen?.agent.name ?? ''} sessionId={sessionId} />
        ),
      },
      State: ({ openCount }) =>
        openCount === 0 ? (
          <Status tone="idle" text="idle" />
        ) : (
          <Status tone="busy" text={`${openCount} open`} />
        ),
      'Last message': { at: ({ lastMessageAt }) => lastMessageAt },
    },
    empty: chosen ? (
      <Empty title="No sessions yet">
        <p>
          A session is a conversation with an agent, under any name. Send a message to{' '}
          {chosen.agent.name} to start one.
        </p>
      </Empty>
    ) : (
      <NoAgent canList={canListAgents(c)} />
    ),
    aside: chosen && can(c, 'messages.send') && <NewSession {...chosen} draft={draft} />,
  })
}

const NewSession = ({ agent, sessions, draft }: Chosen & { readonly draft: Draft | undefined }) => (
  <Card id="send" title={<>Start a conversation with {agent.name}</>}>
    <SendForm
      action={sessionsPath(agent.name)}
      agent={agent}
      draft={draft}
      session={sessions.data.length === 0 ? 'first' : ''}
    />
  </Card>
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
