import { defaultLimits, type Agent, type Instant } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import type { ConsoleDeps, Env } from './context.js'
import { agentRef, pageOf, byActor } from './parts/input.js'
import { show, showError } from './parts/layout.js'
import { BASE } from './options.js'
import {
  Command,
  durationSince,
  Empty,
  Id,
  Next,
  pathOf,
  refreshed,
  Status,
  Time,
} from './parts/parts.js'
import { need } from './access/sign-in.js'
import { agentTones } from './parts/wording.js'

export const agentRoutes = ({ service }: ConsoleDeps) => {
  const mayManage = need('project:agents')
  return new Hono<Env>()
    .get(`${BASE}/agents`, mayManage, async (c) => {
      const isFiltered = c.req.query('state') === 'error'
      const page = isFiltered ? { limit: defaultLimits.agentsPerProject } : pageOf(c)
      const found = await service.agents.list(c.get('apiKey').projectId, page)
      if (found.isErr()) return showError(c, found.error)
      const { nextCursor } = found.value
      const data = found.value.data.filter(({ state }) => !isFiltered || state.kind === 'error')
      const body =
        data.length === 0 && !isFiltered ? (
          <NoAgents origin={new URL(c.req.url).origin} />
        ) : (
          <div {...refreshed('live', 3_000, pathOf(c))}>
            <AgentTable
              agents={data}
              canOpen={c.get('apiKey').permissions.includes('project:message')}
              now={service.now()}
            />
            <Next c={c} cursor={nextCursor} />
          </div>
        )
      return show(
        c,
        { title: 'Agents', section: 'Agents' },
        <>
          <h1>{isFiltered ? 'Agents in error' : 'Agents'}</h1>
          {isFiltered && (
            <p>
              <a href={`${BASE}/agents`}>Show all agents</a>
            </p>
          )}
          {body}
        </>,
      )
    })

    .post(`${BASE}/agents/:agent/:action{start|stop}`, mayManage, async (c) => {
      const isStart = c.req.param('action') === 'start'
      const ref = byActor(c, agentRef(c))
      const done = await (isStart ? service.agents.start(ref) : service.agents.stop(ref))
      if (done.isErr()) return showError(c, done.error)
      return c.redirect(`${BASE}/agents?notice=${isStart ? 'started' : 'stopped'}`, 303)
    })
}

type TableProps = {
  readonly agents: readonly Agent[]
  /** True if the key of the visit can open sessions. */
  readonly canOpen: boolean
  readonly now: Instant
}

const AgentTable = ({ agents, canOpen, now }: TableProps) => (
  <div class="scroll card flush" role="region" aria-label="Agents" tabindex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Agent</th>
          <th scope="col">State</th>
          <th scope="col">Runtime</th>
          <th scope="col">Acts for</th>
          <th scope="col" class="number">
            Concurrency
          </th>
          <th scope="col">Created</th>
          <th scope="col">
            <span class="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {agents.map((agent) => (
          <AgentRow agent={agent} canOpen={canOpen} now={now} />
        ))}
      </tbody>
    </table>
  </div>
)

type RowProps = Pick<TableProps, 'canOpen' | 'now'> & { readonly agent: Agent }

function AgentRow({ agent, canOpen, now }: RowProps) {
  const { id, name, state, runtime, desiredState, concurrency, createdAt } = agent
  const action = desiredState === 'running' && !needsManualStart(agent) ? 'stop' : 'start'
  return (
    <tr>
      <th scope="row" class="nowrap">
        {canOpen ? <a href={`${BASE}/sessions?agent=${name}`}>{name}</a> : name}
        <div>
          <Id id={id} />
        </div>
      </th>
      <td data-label="State">
        <Status tone={agentTones[state.kind]}>{state.kind}</Status>
        <div class="small muted">
          {state.kind === 'running' && <Time at={state.startedAt} now={now} text={durationSince} />}
          {state.kind === 'error' && <LastError state={state} now={now} />}
        </div>
      </td>
      <td data-label="Runtime">{runtime.kind}</td>
      <td class="nowrap" data-label="Acts for">
        {agent.defaultExecutionPrincipal.type === 'service' ? 'the service' : 'end users'}
      </td>
      <td class="number" data-label="Concurrency">
        {concurrency}
      </td>
      <td data-label="Created">
        <Time at={createdAt} now={now} />
      </td>
      <td class="actions">
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
      </td>
    </tr>
  )
}

/** True if the agent failed and the service does not start it again. */
const needsManualStart = ({ state }: Agent): boolean =>
  state.kind === 'error' && state.retryAt === undefined

function LastError({
  state: { lastError, failures, retryAt },
  now,
}: {
  readonly state: Extract<Agent['state'], { kind: 'error' }>
  readonly now: Instant
}) {
  return (
    <>
      <code>{lastError.code}</code> {lastError.message}
      {retryAt === undefined ? null : (
        <>
          <br />
          {failures} {failures === 1 ? 'failure' : 'failures in a row'}, next try{' '}
          <Time at={retryAt} now={now} />
        </>
      )}
    </>
  )
}

const NoAgents = ({ origin }: { readonly origin: string }) => (
  <Empty title="No agents yet">
    <p>An agent answers messages. Create an agent that echoes each message:</p>
    <Command
      text={`curl ${origin}/v1/agents \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"name":"echo","runtime":{"kind":"function","handler":"echo"}}'`}
    />
  </Empty>
)
