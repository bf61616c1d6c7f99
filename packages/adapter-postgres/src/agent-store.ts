import {
  AGENT_COLUMNS,
  AGENT_STATE,
  AGENT_UPDATE,
  agentColumns,
  agentStateColumns,
  assignments,
  insertList,
  mayChangeRuntime,
  resealRows,
  selectList,
  toAgent,
  toPage,
  type Agent,
  type AgentChange,
  type AgentColumns,
  type AgentRow,
  type AgentStore,
  type ClaimedDelivery,
  type OwnRequest,
  type Page,
  type PageOf,
  type ResealedRows,
  type ResealStep,
  type StateChange,
} from '@org/agent-messaging-core/storage'
import { recorded } from './recorded.js'
import type { Database, Queries } from './database.js'
import { addErasure } from './erasure.js'
import { fanOut } from './fan-out.js'
import { pageStart } from './page.js'
import { hasOpen } from './sessions.js'
import { sql } from './sql.js'

type StateColumns = ReturnType<typeof agentStateColumns> & {
  readonly agentId: string
  readonly from: string
}
type Ref = { readonly projectId: string; readonly id: string }
type Project = { readonly projectId: string }
type Named = { readonly projectId: string; readonly name: string }

const selectAgent = `select seq, ${selectList(AGENT_COLUMNS)} from agent_messaging.agents`

const byIdSql = sql<Ref, AgentRow>(`${selectAgent} where id = @id and project_id = @projectId`)
const lockSql = sql<Ref, AgentRow>(
  `${selectAgent} where id = @id and project_id = @projectId for no key update`,
)
/** Waits for running accepts and blocks later ones, which lock the agent `for key share`. */
const lockAloneSql = sql<Ref>(
  `${selectAgent} where id = @id and project_id = @projectId for update`,
)
const byNameSql = sql<Named, AgentRow>(
  `${selectAgent} where name = @name and project_id = @projectId`,
)
const namedSql = sql<
  { readonly projectIds: readonly string[]; readonly names: readonly string[] },
  AgentRow
>(`
  ${selectAgent} where id = any(@names::text[])
    or (project_id = any(@projectIds::text[]) and name = any(@names::text[]))`)
const activeSql = sql<object, AgentRow>(
  `${selectAgent} where desired_state = 'running' or state <> 'stopped' order by seq`,
)
const newestSql = sql<
  { readonly projectId: string; readonly before: number; readonly rows: number },
  AgentRow
>(`${selectAgent} where project_id = @projectId and seq < @before order by seq desc limit @rows`)
/** Keeps two concurrent transactions from both taking the last place. */
const lockProjectSql = sql<Project>(
  'select 1 from agent_messaging.projects where id = @projectId for no key update',
)
const countSql = sql<Project, { readonly count: number }>(
  'select count(*) as count from agent_messaging.agents where project_id = @projectId',
)
const insertSql = sql<AgentColumns>(
  `insert into agent_messaging.agents ${insertList(AGENT_COLUMNS)}`,
)
const updateSql = sql<AgentColumns>(
  `update agent_messaging.agents set ${assignments(AGENT_UPDATE)} where id = @id`,
)
const setStateSql = sql<StateColumns>(
  `update agent_messaging.agents set ${assignments(AGENT_STATE)} where id = @agentId and state = @from`,
)
/** If two processes find an agent free at once, the second one waits for the row and fails. */
const ownSql = sql<OwnRequest, { readonly id: string }>(`
  update agent_messaging.agents set owner = @owner, owned_until = @until
  where id = any(@agentIds::text[]) and (owner is null or owner = @owner or owned_until <= @now)
  returning id`)
const disownSql = sql<{ readonly owner: string }>(`
  update agent_messaging.agents set owner = null, owned_until = null where owner = @owner`)
const removeSql = sql<Ref>('delete from agent_messaging.agents where id = @id')

const afterSql = sql<{ readonly after: number; readonly limit: number }, AgentRow>(
  `${selectAgent} where seq > @after order by seq limit @limit for no key update`,
)

const start = pageStart('agents')

export function agentStore({ read, write, gathered }: Database): AgentStore {
  const find = gathered(findAgents)
  return {
    create: (agent, limit, audit) => write((db) => recorded(db, audit, create(db, agent, limit))),
    get: (projectId, idOrName) => find({ projectId, idOrName }),
    list: (projectId, page) => read((db) => pageOf(db, projectId, page)),
    update: (projectId, id, changes, audit, restarts) =>
      write((db) => recorded(db, audit, change(db, { projectId, id }, changes, restarts))),
    delete: (projectId, id, audit) =>
      write((db) => recorded(db, audit, remove(db, { projectId, id }))),
    changeState: (request) => write((db) => changeState(db, request)),
    own: (request) => write(async (db) => (await db.all(ownSql, request)).map(({ id }) => id)),
    disown: (owner) => write(async (db) => void (await db.run(disownSql, { owner }))),
    listActive: () => read(async (db) => (await db.all(activeSql, {})).map(toAgent)),
    reseal: (step) => write((db) => reseal(db, step)),
  }
}

type AgentRef = { readonly projectId: string; readonly idOrName: string }

/** Finds the agents of many requests at once. Most requests name the same agent. */
export async function findAgents(
  db: Queries,
  all: readonly AgentRef[],
): Promise<(Agent | undefined)[]> {
  const projectIds = [...new Set(all.map(({ projectId }) => projectId))]
  const rows = await db.all(namedSql, {
    projectIds,
    names: [...new Set(all.map(({ idOrName }) => idOrName))],
  })
  const agents = new Map(rows.map((row) => [keyOf(row.projectId, row.name), toAgent(row)]))
  for (const row of rows) agents.set(keyOf(row.projectId, row.id), toAgent(row))
  return all.map(({ projectId, idOrName }) => agents.get(keyOf(projectId, idOrName)))
}

const keyOf = (projectId: string, idOrName: string): string => `${projectId} ${idOrName}`

/**
 * If two transactions take a name at once, the second one violates the unique index. The
 * transaction then runs again and finds the name taken. The same happens in `change`.
 */
async function create(
  db: Queries,
  agent: Agent,
  limit: number,
): Promise<'created' | 'name_taken' | 'limit_reached'> {
  await db.run(lockProjectSql, agent)
  if (await db.one(byIdSql, agent)) return 'created'
  if (await db.one(byNameSql, agent)) return 'name_taken'
  if (((await db.one(countSql, agent))?.count ?? 0) >= limit) return 'limit_reached'
  await db.run(insertSql, agentColumns(agent))
  return 'created'
}

async function change(
  db: Queries,
  ref: Ref,
  changes: AgentChange,
  restarts = false,
): Promise<Agent | 'name_taken' | 'not_stopped' | undefined> {
  const row = await db.one(lockSql, ref)
  if (!row) return undefined
  const agent = toAgent(row)
  if (changes.runtime && !restarts && !mayChangeRuntime(agent)) return 'not_stopped'
  const changed = { ...agent, ...changes }
  const named = await db.one(byNameSql, changed)
  if (named && named.id !== ref.id) return 'name_taken'
  await db.run(updateSql, agentColumns(changed))
  return changed
}

async function reseal(db: Queries, step: ResealStep<Agent>): Promise<ResealedRows> {
  const { after, limit } = step
  const { changed, result } = resealRows(await db.all(afterSql, { after, limit }), toAgent, step)
  for (const agent of changed) await db.run(updateSql, agentColumns(agent))
  return result
}

async function remove(db: Queries, ref: Ref): Promise<'deleted' | 'busy' | undefined> {
  if (!(await db.one(lockAloneSql, ref))) return undefined
  if (await hasOpen(db, ref.id)) return 'busy'
  await db.run(removeSql, ref)
  await addErasure(db, ref.id)
  return 'deleted'
}

type Changed = { readonly changed: boolean; readonly deliveries: readonly ClaimedDelivery[] }

async function changeState(
  db: Queries,
  { agentId, from, to, outgoing }: StateChange,
): Promise<Changed> {
  const changed = (await db.run(setStateSql, { ...agentStateColumns(to), agentId, from })) === 1
  return { changed, deliveries: changed && outgoing ? await fanOut(db, outgoing) : [] }
}

async function pageOf(db: Queries, projectId: string, page: PageOf): Promise<Page<Agent>> {
  const rows = await db.all(newestSql, {
    projectId,
    before: await start(db, page),
    rows: page.limit + 1,
  })
  return toPage(rows, page.limit, toAgent)
}
