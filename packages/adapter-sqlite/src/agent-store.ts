import type { Database } from 'better-sqlite3'
import {
  mayChangeRuntime,
  type Agent,
  type AgentChange,
  type AgentStore,
  type OwnRequest,
  type Page,
  type PageOf,
  type StateChange,
} from '@org/agent-messaging-core/storage'
import {
  agentColumns,
  agentStateColumns,
  selectAgent,
  toAgent,
  type AgentRow,
} from './agent-row.js'
import type { Committer } from './committer.js'
import type { Erasure } from './erasure.js'
import type { FanOut } from './fan-out.js'
import { pageStart, toPage } from './page.js'
import { resealRows } from './reseal.js'
import type { SessionRows } from './session-rows.js'
import { atMost } from './statements.js'
import { VersionedCache } from './versioned-cache.js'

type Columns = ReturnType<typeof agentColumns>
type StateColumns = ReturnType<typeof agentStateColumns> & {
  readonly agentId: string
  readonly from: string
}

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

  const sealed = {
    after: (seq: number, limit: number) => sql.after.all(seq, limit),
    from: toAgent,
    write: (agent: Agent) => void sql.update.run(agentColumns(agent)),
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
    reseal: (step) => write(() => resealRows(sealed, step)),
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
  insert: db.prepare<[Columns]>(`
    insert into agents (id, project_id, name, default_principal, runtime_kind, runtime_options, runtime_secrets, desired_state,
      state, started_at, last_error, failures, retry_at, concurrency, max_attempts, max_queued, created_at, updated_at)
    values (@id, @projectId, @name, @defaultPrincipal, @runtimeKind, @runtimeOptions, @runtimeSecrets, @desiredState,
      @state, @startedAt, @lastError, @failures, @retryAt, @concurrency, @maxAttempts, @maxQueued, @createdAt, @updatedAt)`),
  update: db.prepare<[Columns]>(`
    update agents set name = @name, default_principal = @defaultPrincipal, runtime_kind = @runtimeKind,
      runtime_options = @runtimeOptions, runtime_secrets = @runtimeSecrets, desired_state = @desiredState,
      concurrency = @concurrency, max_attempts = @maxAttempts, max_queued = @maxQueued, updated_at = @updatedAt
    where id = @id`),
  setState: db.prepare<[StateColumns]>(`
    update agents set state = @state, started_at = @startedAt, last_error = @lastError, failures = @failures, retry_at = @retryAt
    where id = @agentId and state = @from`),
  lease: db.prepare<[{ readonly agentId: string } & Omit<OwnRequest, 'agentIds'>]>(`
    update agents set owner = @owner, owned_until = @until
    where id = @agentId and (owner is null or owner = @owner or owned_until <= @now)`),
  disown: db.prepare<[string]>(
    'update agents set owner = null, owned_until = null where owner = ?',
  ),
  removeAgent: db.prepare<[string]>('delete from agents where id = ?'),
})
