import type { Agent } from '@org/agent-messaging-core'
import {
  AGENT_COLUMNS,
  AGENT_STATE,
  AGENT_UPDATE,
  agentColumns,
  agentStateColumns,
  assignments,
  insertList,
  mayChangeRuntime,
  selectList,
  toAgent,
  type AgentColumns,
  type AgentRow,
  type AgentStore,
  type OwnRequest,
  type StateChange,
} from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import type { Dialect } from './dialect.js'
import { addErasure } from './erasures.js'
import { all, one, run, sql, type Operation, type Runner } from './operation.js'
import { pagesOf, resealing, countIn, lockProject, type OfProject } from './pages.js'

type Id = { readonly id: string }
type Ref = OfProject & Id
type Named = OfProject & { readonly name: string }
type Owner = { readonly owner: string }
type StateColumns = ReturnType<typeof agentStateColumns> & {
  readonly agentId: string
  readonly from: string
}

export const selectAgent = ({ schema }: Dialect): string =>
  `select seq, ${selectList(AGENT_COLUMNS)} from ${schema}agents`
const ofProject = (d: Dialect): string => `${selectAgent(d)} where project_id = @projectId`

const byId = sql<Ref, AgentRow>((d) => `${ofProject(d)} and id = @id`)
const byName = sql<Named, AgentRow>((d) => `${ofProject(d)} and name = @name`)
const lock = sql<Ref, AgentRow>((d) => `${byId(d)} ${d.lock('no key update')}`)
/** Waits for running accepts and blocks later ones, which lock the agent `for key share`. */
const lockAlone = sql<Ref, AgentRow>((d) => `${byId(d)} ${d.lock('update')}`)
const active = sql<object, AgentRow>(
  (d) => `${selectAgent(d)} where desired_state = 'running' or state <> 'stopped' order by seq`,
)
const count = countIn('agents')
const insert = sql<AgentColumns>(
  ({ schema }) => `insert into ${schema}agents ${insertList(AGENT_COLUMNS)}`,
)
const update = sql<AgentColumns>(
  ({ schema }) => `update ${schema}agents set ${assignments(AGENT_UPDATE)} where id = @id`,
)
const setState = sql<StateColumns>(
  ({ schema }) => `
    update ${schema}agents set ${assignments(AGENT_STATE)} where id = @agentId and state = @from`,
)
/** If two processes find an agent free at once, the second one waits for the row and fails. */
const own = sql<OwnRequest, Id>(
  ({ schema, oneOf }) => `
    update ${schema}agents set owner = @owner, owned_until = @until
    where ${oneOf('id', 'agentIds')} and (owner is null or owner = @owner or owned_until <= @now)
    returning id`,
)
const disown = sql<Owner>(
  ({ schema }) =>
    `update ${schema}agents set owner = null, owned_until = null where owner = @owner`,
)
const remove = sql<Id>(({ schema }) => `delete from ${schema}agents where id = @id`)
const openSession = sql<Id>(
  ({ schema }) =>
    `select 1 from ${schema}sessions where agent_id = @id and due_at is not null limit 1`,
)
export function* findAgent(projectId: string, idOrName: string): Operation<Agent | undefined> {
  const row =
    (yield* one(byId, { projectId, id: idOrName })) ??
    (yield* one(byName, { projectId, name: idOrName }))
  return row && toAgent(row)
}

/** Returns false if the agent has another state than `from`. */
export function* changeAgentState({ agentId, from, to }: StateChange): Operation<boolean> {
  return (yield* run(setState, { ...agentStateColumns(to), agentId, from })) === 1
}

/**
 * The adapters read the agent of each request and report a changed state in their own way.
 *
 * If two transactions take a name at once, the second one violates the unique index. The
 * transaction then runs again and finds the name taken.
 */
export const agentStore = ({ read, write }: Runner): Omit<AgentStore, 'get' | 'changeState'> => ({
  create: write(function* (agent, limit, audit) {
    yield* run(lockProject, agent)
    if (yield* one(byId, agent)) return 'created'
    if (yield* one(byName, agent)) return 'name_taken'
    if ((yield* count(agent)) >= limit) return 'limit_reached'
    yield* run(insert, agentColumns(agent))
    yield* record(audit, agent)
    return 'created'
  }),
  list: read(pagesOf('agents', ofProject, toAgent)),
  update: write(function* (projectId, id, changes, audit, restarts = false) {
    const row = yield* one(lock, { projectId, id })
    if (!row) return undefined
    const agent = toAgent(row)
    if (changes.runtime && !restarts && !mayChangeRuntime(agent)) return 'not_stopped'
    const changed = { ...agent, ...changes }
    const named = yield* one(byName, changed)
    if (named && named.id !== id) return 'name_taken'
    yield* run(update, agentColumns(changed))
    yield* record(audit, changed, agent)
    return changed
  }),
  delete: write(function* (projectId, id, audit) {
    const row = yield* one(lockAlone, { projectId, id })
    if (!row) return undefined
    if (yield* one(openSession, { id })) return 'busy'
    yield* run(remove, { id })
    yield* addErasure(id)
    yield* record(audit, toAgent(row))
    return 'deleted'
  }),
  own: write(function* (request) {
    return (yield* all(own, request)).map(({ id }) => id)
  }),
  disown: write(function* (owner) {
    yield* run(disown, { owner })
  }),
  listActive: read(function* () {
    return (yield* all(active, {})).map(toAgent)
  }),
  reseal: write(resealing((d) => `${selectAgent(d)} where`, toAgent, update, agentColumns)),
})
