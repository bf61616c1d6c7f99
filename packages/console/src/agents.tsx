import type { Agent, ProjectStats } from '@org/agent-messaging-core'
import { badFirst, orUndefined } from '@org/agent-messaging-core/host'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from './context.js'
import type { Field } from './parts/fields.js'
import { agentRef, byActor, can, pageOf, projectIn } from './parts/input.js'
import { need, goTo } from './parts/layout.js'
import { Sparkline } from './parts/charts.js'
import { upTo } from './parts/numbers.js'
import { durationSince, formatCount, Id, Status, Time, CurlCommand } from './parts/parts.js'
import { type Column, type Columns, Empty, listPage } from './parts/table.js'
import { type MessageFilter, messagesPath } from './messages/message-table.js'
import { agentLabel } from './parts/wording.js'
import { useView } from './parts/zone.js'

export const agentRoutes = ({ service }: ConsoleDeps) => {
  return newRoutes()
    .get('/agents', need('agents.list'), async (c) => {
      const isFiltered = c.req.query('state') === 'error'
      const limit = defaultLimits.agentsPerProject
      const { data } = await service.agents.list({ projectId: projectIn(c), limit })
      const page = badFirst(isFiltered ? data.filter(isInError) : data, isInError, pageOf(c))
      const stats = can(c, 'messages.list') ? await statsOf(service, page.data) : undefined
      return listPage(c, {
        title: 'Agents',
        section: 'Agents',
        heading: isFiltered ? 'Agents in error' : 'Agents',
        before: isFiltered && (
          <p>
            <a href={`${BASE}/agents`}>Show all agents</a>
          </p>
        ),
        every: 5_000,
        page,
        next: 'More',
        columns: columnsFor(c, stats),
        empty: isFiltered ? NONE_FAILED : <NoAgents />,
      })
    })

    .post('/agents/:agent/:action{start|stop}', need('agents.start'), async (c) => {
      const isStart = c.req.param('action') === 'start'
      const ref = byActor(c, agentRef(c))
      await (isStart ? service.agents.start(ref) : service.agents.stop(ref))
      const path = c.req.query('from') === 'page' ? `/agents/${ref.agent}` : '/agents'
      return goTo(c, `${path}?notice=${isStart ? 'started' : 'stopped'}`)
    })
}

const isInError = ({ state }: Agent) => state.kind === 'error'

/** By the ids of agents. */
type StatsOfAgents = ReadonlyMap<string, ProjectStats>

/** Reads the counts of 24 hours agent by agent: all rows of 1,000 agents would block other requests. */
async function statsOf({ stats }: ConsoleDeps['service'], agents: readonly Agent[]) {
  const found = new Map<string, ProjectStats>()
  for (const { projectId, id } of agents)
    found.set(id, await stats({ projectId, step: '1h', by: 'agent', id }))
  return found
}

/** `stats` is absent if the key of the visit cannot read messages. */
const columnsFor = (c: PageRequest, stats: StatsOfAgents | undefined): Columns<Agent> => ({
  Agent: {
    class: 'nowrap',
    cell: ({ id, name }) => (
      <>
        <a href={`${BASE}/agents/${id}`}>{name}</a>
        <div>
          <Id id={id} />
        </div>
      </>
    ),
  },
  State: (agent) => <AgentState agent={agent} />,
  Runtime: ({ runtime }) => runtime.kind,
  ...(stats && numberColumns(stats)),
  Actions: can(c, 'agents.start') && {
    class: 'actions',
    cell: (agent) => <AgentActions agent={agent} />,
  },
})

/** The numbers of 24 hours, which link to the messages that they count. */
function numberColumns(stats: StatsOfAgents): Columns<Agent> {
  const from = [...stats.values()][0]?.from
  const totalOf = ({ id }: Agent) => stats.get(id)?.total
  const linked = (count: 'messages' | 'failed', filter: MessageFilter): Column<Agent> => ({
    class: 'number',
    cell: (agent) => (
      <a href={messagesPath({ agent: agent.name, ...filter })}>
        {formatCount(totalOf(agent)?.[count] ?? 0)}
      </a>
    ),
    csv: (agent) => totalOf(agent)?.[count] ?? 0,
  })
  const time = (share: 'p50Ms' | 'p95Ms'): Column<Agent> => ({
    class: 'number',
    cell: (agent) => {
      const total = totalOf(agent)
      return total && total.answered > 0 ? upTo(total[share]) : '–'
    },
  })
  const tokens = (agent: Agent) => {
    const { inputTokens = 0, outputTokens = 0 } = totalOf(agent) ?? {}
    return inputTokens + outputTokens
  }
  return {
    '24 hours': ({ id }) => {
      const { from: first, stepMs, rows } = stats.get(id) as ProjectStats
      const bars = (count: 'answered' | 'failed') => {
        const values = Array.from({ length: 24 }, () => 0)
        for (const row of rows) values[(row.at - first) / stepMs] = row[count]
        return values
      }
      return <Sparkline good={bars('answered')} bad={bars('failed')} name="answered" />
    },
    Messages: linked('messages', { from }),
    Failed: linked('failed', { state: 'failed' }),
    p50: time('p50Ms'),
    p95: time('p95Ms'),
    Tokens: { class: 'number', cell: (agent) => formatCount(tokens(agent)), csv: tokens },
  }
}

type AgentProps = { readonly agent: Agent }

export const AgentState = ({ agent: { state } }: AgentProps) => (
  <>
    <Status {...agentLabel(state)} />
    <div class="small muted">
      {state.kind === 'running' && <Time at={state.startedAt} text={durationSince} />}
      {state.kind === 'error' && <LastError state={state} />}
    </div>
  </>
)

/** Starts, stops and deletes an agent. `from`: the page to go back to, or else the list. */
export function AgentActions({ agent, from }: AgentProps & { readonly from?: 'page' }) {
  const { id, name, desiredState } = agent
  const action = desiredState === 'running' && !needsManualStart(agent) ? 'stop' : 'start'
  return (
    <form method="post" action={`${BASE}/agents/${id}/${action}${from ? `?from=${from}` : ''}`}>
      <button id={`${action}-${id}`}>{action === 'start' ? 'Start' : 'Stop'}</button>
      <a class="button quiet" href={`${BASE}/agents/${id}/delete`} aria-label={`Delete ${name}`}>
        Delete
      </a>
    </form>
  )
}

/** True if the agent failed and the service does not start it again. */
const needsManualStart = ({ state }: Agent) => state.kind === 'error' && state.retryAt === undefined

function LastError({
  state: { lastError, failures, retryAt },
}: {
  readonly state: Extract<Agent['state'], { kind: 'error' }>
}) {
  return (
    <>
      <code>{lastError.code}</code> {lastError.message}
      {retryAt === undefined ? null : (
        <>
          <br />
          {failures} {failures === 1 ? 'failure' : 'failures in a row'}, next try{' '}
          <Time at={retryAt} />
        </>
      )}
    </>
  )
}

const NONE_FAILED = <p class="muted">No agent is in error.</p>

const NoAgents = () => (
  <Empty title="No agents yet">
    <p>An agent answers messages. Create an agent that echoes each message:</p>
    <CurlCommand
      path="agents"
      body={{ name: 'echo', runtime: { kind: 'function', handler: 'echo' } }}
    />
  </Empty>
)

/**
 * Tells whether the API key can list agents. Other keys can use an agent by its name or id, as in
 * the API.
 */
export const canListAgents = (c: PageRequest) => can(c, 'agents.list')

/** Returns the names of agents by their ids, if the API key can list agents. */
export async function agentNames(c: PageRequest, { agents }: ConsoleDeps['service']) {
  if (!canListAgents(c)) return new Map<string, string>()
  const page = { limit: defaultLimits.agentsPerProject }
  const found = await orUndefined(agents.list({ projectId: projectIn(c), ...page }))
  return new Map(found?.data.map(({ id, name }) => [id, name]))
}

/**
 * Replaces the agent's name by `requested`, unless the API key can list agents and so know its
 * name.
 */
export const withKnownName = (c: PageRequest, agent: Agent, requested: string) =>
  canListAgents(c) ? agent : { ...agent, name: requested }

export type AgentNames = ReadonlyMap<string, string>

type LinkProps = { readonly id: string; readonly names: AgentNames }

/** The name of an agent, or the id if the API key cannot list agents. */
export const AgentLink = ({ id, names }: LinkProps) => {
  const name = names.get(id)
  if (name === undefined) return <Id id={id} />
  // The portal has no page of an agent.
  return useView().c.get('portal') ? <>{name}</> : <a href={`${BASE}/agents/${id}`}>{name}</a>
}

/** Chooses an agent. An API key that cannot list agents has to type the name. */
export const agentField = (names: AgentNames): Field => ({
  label: 'Agent',
  ...(names.size > 0
    ? { choices: [...names.values()].sort() }
    : { placeholder: 'name or ID', autocomplete: 'off', spellcheck: false }),
})
