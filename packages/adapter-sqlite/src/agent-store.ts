import type { Database } from 'better-sqlite3'
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
  type OwnRequest,
  type Page,
  type PageOf,
  type ResealedRows,
  type ResealStep,
  type StateChange,
} from '@org/agent-messaging-core/storage'
import type { Committer } from './committer.js'
import type { Erasure } from './erasure.js'
import type { FanOut } from './fan-out.js'
import type { SessionRows } from './session-rows.js'
import { atMost, pageStart } from './statements.js'
import { VersionedCache } from './versioned-cache.js'

type StateColumns = ReturnType<typeof agentStateColumns> & {
  readonly agentId: string
  readonly from: string
}

const selectAgent = `select seq, ${selectList(AGENT_COLUMNS)} from agents`

type Parts = { readonly sessions: SessionRows; readonly fanOut: FanOut; readonly erasure: Erasure }

/** Releases all agents. Their owners must be dead. */
export function releaseAgents(db: Database): void {
  db.exec('update agents set owner = null, owned_until = null where owner is not null')
}

export function agentStore(
  db: Database,
  committer: Committer,
  { sessions, fanOut, erasure }: Parts,
): AgentStore {
  const sql = prepare(db)
  const start = pageStart(db, 'agents')
  const cache = new VersionedCache<string, Agent | undefined>(db)

  const write: Committer['write'] = (operation) =>
    committer.write(() => {
      cache.clear()
      return operation()
    })

  function find(projectId: string, idOrName: string): Agent | undefined {
    const row = sql.byId.get(idOrName, projectId) ?? sql.byName.get(idOrName, projectId)
    return row && toAgent(row)
  }

  function create(agent: Agent, limit: number): 'created' | 'name_taken' | 'limit_reached' {
    if (sql.byId.get(agent.id, agent.projectId)) return 'created'
    if (sql.byName.get(agent.name, agent.projectId)) return 'name_taken'
    if ((sql.count.get(agent.projectId) ?? 0) >= limit) return 'limit_reached'
    sql.insert.run(agentColumns(agent))
    return 'created'
  }

  function change(
    projectId: string,
    id: string,
    changes: AgentChange,
  ): Agent | 'name_taken' | 'not_stopped' | undefined {
    const row = sql.byId.get(id, projectId)
    if (!row) return undefined
    const agent = toAgent(row)
    if (changes.runtime && !mayChangeRuntime(agent)) return 'not_stopped'
    const changed = { ...agent, ...changes }
    const named = sql.byName.get(changed.name, projectId)
    if (named && named.id !== id) return 'name_taken'
    sql.update.run(agentColumns(changed))
    return changed
  }

  function remove(projectId: string, id: string, force: boolean): 'deleted' | 'busy' | undefined {
    if (!sql.byId.get(id, projectId)) return undefined
    if (!force && sessions.hasOpen(id)) return 'busy'
    sql.removeAgent.run(id)
    erasure.add(id)
    return 'deleted'
  }

  function changeState({ agentId, from, to, outgoing }: StateChange): {
    changed: boolean
    deliveries: ReturnType<FanOut>
  } {
    const changed = sql.setState.run({ ...agentStateColumns(to), agentId, from }).changes === 1
    return { changed, deliveries: changed && outgoing ? fanOut(outgoing) : [] }
  }

  function reseal(step: ResealStep<Agent>): ResealedRows {
    const { changed, result } = resealRows(sql.after.all(step.after, step.limit), toAgent, step)
    for (const agent of changed) sql.update.run(agentColumns(agent))
    return result
  }

  const own = ({ agentIds, ...terms }: OwnRequest): string[] =>
    agentIds.filter((agentId) => sql.lease.run({ agentId, ...terms }).changes === 1)

  const pageOf = (projectId: string, page: PageOf): Page<Agent> =>
    toPage(sql.newest.all(projectId, start(page), page.limit + 1), page.limit, toAgent)

  return {
    create: (agent, limit) => write(() => create(agent, limit)),
    get: (projectId, idOrName) =>
      committer.read(() => cache.get(`${projectId} ${idOrName}`, () => find(projectId, idOrName))),
    list: (projectId, page) => committer.read(() => pageOf(projectId, page)),
    update: (projectId, id, changes) => write(() => change(projectId, id, changes)),
    delete: (projectId, id, { force }) => write(() => remove(projectId, id, force)),
    changeState: (request) => write(() => changeState(request)),
    own: (request) => committer.write(() => own(request)),
    disown: (owner) => committer.write(() => void sql.disown.run(owner)),
    listActive: () => committer.read(() => sql.active.all().map(toAgent)),
    reseal: (step) => write(() => reseal(step)),
  }
}

const prepare = (db: Database) => ({
  byId: db.prepare<[string, string], AgentRow>(`${selectAgent} where id = ? and project_id = ?`),
  byName: db.prepare<[string, string], AgentRow>(
    `${selectAgent} where name = ? and project_id = ?`,
  ),
  count: db.prepare<[string], number>('select count(*) from agents where project_id = ?').pluck(),
  active: db.prepare<[], AgentRow>(
    `${selectAgent} where desired_state = 'running' or state <> 'stopped' order by seq`,
  ),
  newest: db.prepare<[string, number, number], AgentRow>(
    `${selectAgent} where project_id = ? and seq < ? order by seq desc ${atMost('?')}`,
  ),
  after: db.prepare<[number, number], AgentRow>(
    `${selectAgent} where seq > ? order by seq ${atMost('?')}`,
  ),
  insert: db.prepare<[AgentColumns]>(`insert into agents ${insertList(AGENT_COLUMNS)}`),
  update: db.prepare<[AgentColumns]>(
    `update agents set ${assignments(AGENT_UPDATE)} where id = @id`,
  ),
  setState: db.prepare<[StateColumns]>(
    `update agents set ${assignments(AGENT_STATE)} where id = @agentId and state = @from`,
  ),
  lease: db.prepare<[{ readonly agentId: string } & Omit<OwnRequest, 'agentIds'>]>(`
    update agents set owner = @owner, owned_until = @until
    where id = @agentId and (owner is null or owner = @owner or owned_until <= @now)`),
  disown: db.prepare<[string]>(
    'update agents set owner = null, owned_until = null where owner = ?',
  ),
  removeAgent: db.prepare<[string]>('delete from agents where id = ?'),
})
