import type { Agent } from '@org/agent-messaging-core'
import { badFirst, orUndefined } from '@org/agent-messaging-core/host'
import { defaultLimits } from '@org/agent-messaging-core/runtime'
import { type ConsoleDeps, newRoutes, type PageRequest } from './context.js'
import type { Field } from './parts/fields.js'
import { agentRef, byActor, can, pageOf, projectIn } from './parts/input.js'
import { showDone, showFound } from './parts/layout.js'
import { BASE } from './options.js'
import { Command, durationSince, Id, Status, Time } from './parts/parts.js'
import { type Columns, Empty, listPage } from './parts/table.js'
import { need } from './access/sign-in.js'
import { sessionsPath } from './messages/message-table.js'
import { agentLabel } from './parts/wording.js'

export const agentRoutes = ({ service }: ConsoleDeps) => {
  return newRoutes()
    .get('/agents', need('agents.list'), (c) => {
      const isFiltered = c.req.query('state') === 'error'
      const limit = defaultLimits.agentsPerProject
      return showFound(c, service.agents.list({ projectId: projectIn(c), limit }), ({ data }) =>
        listPage(c, {
          title: 'Agents',
          section: 'Agents',
          heading: isFiltered ? 'Agents in error' : 'Agents',
          before: isFiltered && (
            <p>
              <a href={`${BASE}/agents`}>Show all agents</a>
            </p>
          ),
          every: 3_000,
          page: badFirst(isFiltered ? data.filter(isInError) : data, isInError, pageOf(c)),
          next: 'More',
          columns: columnsFor(c),
          empty: isFiltered ? NONE_FAILED : <NoAgents origin={new URL(c.req.url).origin} />,
        }),
      )
    })

    .post('/agents/:agent/:action{start|stop}', need('agents.start'), (c) => {
      const isStart = c.req.param('action') === 'start'
      const ref = byActor(c, agentRef(c))
      const done = isStart ? service.agents.start(ref) : service.agents.stop(ref)
      return showDone(c, done, `/agents?notice=${isStart ? 'started' : 'stopped'}`)
    })
}

const isInError = ({ state }: Agent) => state.kind === 'error'

const columnsFor = (c: PageRequest): Columns<Agent> => ({
  Agent: {
    class: 'nowrap',
    cell: ({ id, name }) => (
      <>
        {can(c, 'messages.list') ? <a href={sessionsPath(name)}>{name}</a> : name}
        <div>
          <Id id={id} />
        </div>
      </>
    ),
  },
  State: ({ state }) => (
    <>
      <Status {...agentLabel(state)} />
      <div class="small muted">
        {state.kind === 'running' && <Time at={state.startedAt} text={durationSince} />}
        {state.kind === 'error' && <LastError state={state} />}
      </div>
    </>
  ),
  Runtime: ({ runtime }) => runtime.kind,
  'Acts for': {
    class: 'nowrap',
    cell: ({ defaultExecutionPrincipal: { type } }) =>
      type === 'service' ? 'the service' : 'end users',
  },
  Concurrency: { class: 'number', cell: ({ concurrency }) => concurrency },
  Created: { at: ({ createdAt }) => createdAt },
  Actions: can(c, 'agents.start') && {
    class: 'actions',
    cell: (agent) => {
      const { id, name, desiredState } = agent
      const action = desiredState === 'running' && !needsManualStart(agent) ? 'stop' : 'start'
      return (
        <form method="post" action={`${BASE}/agents/${id}/${action}`}>
          <button id={`${action}-${id}`}>{action === 'start' ? 'Start' : 'Stop'}</button>
          <a
            class="button quiet"
            href={`${BASE}/agents/${id}/delete`}
            aria-label={`Delete ${name}`}
          >
            Delete
          </a>
        </form>
      )
    },
  },
})

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

const NoAgents = ({ origin }: { readonly origin: string }) => (
  <Empty title="No agents yet">
    <p>An agent answers messages. Create an agent that echoes each message:</p>
    <Command
      text={`curl ${origin}/v1/agents \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"name":"echo","runtime":{"kind":"function","handler":"echo"}}'`}
    />
  </Empty>
)

/**
 * Tells whether the API key can list agents. Other keys can use an agent by its name or id, as in
 * the API.
 */
export const canListAgents = (c: PageRequest): boolean => can(c, 'agents.list')

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
export const withKnownName = (c: PageRequest, agent: Agent, requested: string): Agent =>
  canListAgents(c) ? agent : { ...agent, name: requested }

export type AgentNames = ReadonlyMap<string, string>

type LinkProps = { readonly id: string; readonly names: AgentNames }

/** The name of an agent, or the id if the API key cannot list agents. */
export const AgentLink = ({ id, names }: LinkProps) => {
  const name = names.get(id)
  return name === undefined ? <Id id={id} /> : <a href={sessionsPath(name)}>{name}</a>
}

/** Chooses an agent. An API key that cannot list agents has to type the name. */
export const agentField = (names: AgentNames): Field => ({
  label: 'Agent',
  ...(names.size > 0
    ? { choices: [...names.values()].sort() }
    : { placeholder: 'name or ID', autocomplete: 'off', spellcheck: false }),
})
