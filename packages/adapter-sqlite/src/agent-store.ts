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
import type { SessionRows } from './session-row.js'
import { atMost } from './statements.js'
import { versionedCache } from './versioned-cache.js'

type Columns = ReturnType<typeof agentColumns>
type StateColumns = ReturnType<typeof agentStateColumns> & {
  readonly agentId: string
  readonly from: string
}

type Parts = { readonly sessions: SessionRows; readonly fanOut: FanOut; readonly erasure: Erasure }

/** For when those who held them are known to be dead. */
export function releaseAgents(db: Database): void {
  db.exec('update agents set owner = null, owned_until = null where owner is not null')
}

export function agentStore(
  db: Database,
  { read, write: commit }: Committer,
  { sessions, fanOut, erasure }: Parts,
): AgentStore {
  const byId = db.prepare<[string, string], AgentRow>(
    `${selectAgent} where id = ? and project_id = ?`,
  )
  const byName = db.prepare<[string, string], AgentRow>(
    `${selectAgent} where name = ? and project_id = ?`,
  )
  const count = db
    .prepare<[string], number>('select count(*) from agents where project_id = ?')
    .pluck()
  const active = db.prepare<[], AgentRow>(
    `${selectAgent} where desired_state = 'running' or state <> 'stopped' order by seq`,
  )
  const start = pageStart(db, 'agents')
  const newest = db.prepare<[string, number, number], AgentRow>(
    `${selectAgent} where project_id = ? and seq < ? order by seq desc ${atMost('?')}`,
  )
  const behind = db.prepare<[number, number], AgentRow>(
    `${selectAgent} where seq > ? order by seq ${atMost('?')}`,
  )
  const insert = db.prepare<[Columns]>(`
    insert into agents (id, project_id, name, default_principal, runtime_kind, runtime_options, runtime_secrets, desired_state,
      state, started_at, last_error, failures, retry_at, concurrency, max_attempts, max_queued, created_at, updated_at)
    values (@id, @projectId, @name, @defaultPrincipal, @runtimeKind, @runtimeOptions, @runtimeSecrets, @desiredState,
      @state, @startedAt, @lastError, @failures, @retryAt, @concurrency, @maxAttempts, @maxQueued, @createdAt, @updatedAt)`)
  const update = db.prepare<[Columns]>(`
    update agents set name = @name, default_principal = @defaultPrincipal, runtime_kind = @runtimeKind,
      runtime_options = @runtimeOptions, runtime_secrets = @runtimeSecrets, desired_state = @desiredState,
      concurrency = @concurrency, max_attempts = @maxAttempts, max_queued = @maxQueued, updated_at = @updatedAt
    where id = @id`)
  const setState = db.prepare<[StateColumns]>(`
    update agents set state = @state, started_at = @startedAt, last_error = @lastError, failures = @failures, retry_at = @retryAt
    where id = @agentId and state = @from`)
  const lease = db.prepare<[{ readonly agentId: string } & Omit<OwnRequest, 'agentIds'>]>(`
    update agents set owner = @owner, owned_until = @until
    where id = @agentId and (owner is null or owner = @owner or owned_until <= @now)`)
  const disown = db.prepare<[string]>(
    'update agents set owner = null, owned_until = null where owner = ?',
  )
  const removeAgent = db.prepare<[string]>('delete from agents where id = ?')

  const cache = versionedCache<string, Agent | undefined>(db)

  const write: typeof commit = (operation) =>
    commit(() => {
      cache.clear()
      return operation()
    })

  function find(projectId: string, idOrName: string): Agent | undefined {
    const row = byId.get(idOrName, projectId) ?? byName.get(idOrName, projectId)
    return row && toAgent(row)
  }

  function create(agent: Agent, limit: number): 'created' | 'name_taken' | 'limit_reached' {
    if (byId.get(agent.id, agent.projectId)) return 'created'
    if (byName.get(agent.name, agent.projectId)) return 'name_taken'
    if ((count.get(agent.projectId) ?? 0) >= limit) return 'limit_reached'
    insert.run(agentColumns(agent))
    return 'created'
  }

  function change(
    projectId: string,
    id: string,
    changes: AgentChange,
  ): Agent | 'name_taken' | 'not_stopped' | undefined {
    const row = byId.get(id, projectId)
    if (!row) return undefined
    const agent = toAgent(row)
    if (changes.runtime && !mayChangeRuntime(agent)) return 'not_stopped'
    const changed = { ...agent, ...changes }
    const named = byName.get(changed.name, projectId)
    if (named && named.id !== id) return 'name_taken'
    update.run(agentColumns(changed))
    return changed
  }

  function remove(projectId: string, id: string, force: boolean): 'deleted' | 'busy' | undefined {
    if (!byId.get(id, projectId)) return undefined
    if (!force && sessions.hasOpen(id)) return 'busy'
    removeAgent.run(id)
    erasure.add(id)
    return 'deleted'
  }

  function changeState({ agentId, from, to, outgoing }: StateChange): {
    changed: boolean
    deliveries: ReturnType<FanOut>
  } {
    const changed = setState.run({ ...agentStateColumns(to), agentId, from }).changes === 1
    return { changed, deliveries: changed && outgoing ? fanOut(outgoing) : [] }
  }

  const sealed = {
    behind: (after: number, limit: number) => behind.all(after, limit),
    from: toAgent,
    write: (agent: Agent) => void update.run(agentColumns(agent)),
  }

  const own = ({ agentIds, ...terms }: OwnRequest): string[] =>
    agentIds.filter((agentId) => lease.run({ agentId, ...terms }).changes === 1)

  const pageOf = (projectId: string, page: PageOf): Page<Agent> =>
    toPage(newest.all(projectId, start(page), page.limit + 1), page.limit, toAgent)

  return {
    create: (agent, limit) => write(() => create(agent, limit)),
    get: (projectId, idOrName) =>
      read(() => cache.get(`${projectId} ${idOrName}`, () => find(projectId, idOrName))),
    list: (projectId, page) => read(() => pageOf(projectId, page)),
    update: (projectId, id, changes) => write(() => change(projectId, id, changes)),
    delete: (projectId, id, { force }) => write(() => remove(projectId, id, force)),
    changeState: (request) => write(() => changeState(request)),
    own: (request) => commit(() => own(request)),
    disown: (owner) => commit(() => void disown.run(owner)),
    listActive: () => read(() => active.all().map(toAgent)),
    reseal: (step) => write(() => resealRows(sealed, step)),
  }
}
