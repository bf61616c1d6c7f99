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
import type { AuditRows } from './audit-rows.js'
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

type Parts = {
  readonly sessions: SessionRows
  readonly fanOut: FanOut
  readonly erasure: Erasure
  readonly audit: AuditRows
}

/** Releases all agents. Their owners must be dead. Returns their number. */
export function releaseAgents(db: Database): number {
  return db
    .prepare('update agents set owner = null, owned_until = null where owner is not null')
    .run().changes
}

export function agentStore(db: Database, committer: Committer, parts: Parts): AgentStore {
  const agents = new AgentRows(db, parts)
  const { audit: log } = parts
  const cache = new VersionedCache<string, Agent | undefined>(db)

  const write: Committer['write'] = (operation) =>
    committer.write(() => {
      cache.clear()
      return operation()
    })

  return {
    create: (agent, limit, audit) => write(() => log.recorded(audit, agents.create(agent, limit))),
    get: (projectId, idOrName) =>
      committer.read(() =>
        cache.get(`${projectId} ${idOrName}`, () => agents.find(projectId, idOrName)),
      ),
    list: (projectId, page) => committer.read(() => agents.list(projectId, page)),
    update: (projectId, id, changes, audit, restarts) =>
      write(() => log.recorded(audit, agents.update(projectId, id, changes, restarts))),
    delete: (projectId, id, audit) =>
      write(() => log.recorded(audit, agents.delete(projectId, id))),
    changeState: (request) => write(() => agents.changeState(request)),
    own: (request) => committer.write(() => agents.own(request)),
    disown: (owner) => committer.write(() => agents.disown(owner)),
    listActive: () => committer.read(() => agents.listActive()),
    reseal: (step) => write(() => agents.reseal(step)),
  }
}

class AgentRows {
  readonly #sql: ReturnType<typeof prepare>
  readonly #pageStart: ReturnType<typeof pageStart>
  readonly #parts: Parts

  constructor(db: Database, parts: Parts) {
    this.#sql = prepare(db)
    this.#pageStart = pageStart(db, 'agents')
    this.#parts = parts
  }

  find(projectId: string, idOrName: string): Agent | undefined {
    const row = this.#sql.byId.get(idOrName, projectId) ?? this.#sql.byName.get(idOrName, projectId)
    return row && toAgent(row)
  }

  list(projectId: string, page: PageOf): Page<Agent> {
    const rows = this.#sql.newest.all(projectId, this.#pageStart(page), page.limit + 1)
    return toPage(rows, page.limit, toAgent)
  }

  listActive(): Agent[] {
    return this.#sql.active.all().map(toAgent)
  }

  create(agent: Agent, limit: number): 'created' | 'name_taken' | 'limit_reached' {
    const { byId, byName, count, insert } = this.#sql
    if (byId.get(agent.id, agent.projectId)) return 'created'
    if (byName.get(agent.name, agent.projectId)) return 'name_taken'
    if ((count.get(agent.projectId) ?? 0) >= limit) return 'limit_reached'
    insert.run(agentColumns(agent))
    return 'created'
  }

  update(
    projectId: string,
    id: string,
    changes: AgentChange,
    restarts = false,
  ): Agent | 'name_taken' | 'not_stopped' | undefined {
    const row = this.#sql.byId.get(id, projectId)
    if (!row) return undefined
    const agent = toAgent(row)
    if (changes.runtime && !restarts && !mayChangeRuntime(agent)) return 'not_stopped'
    const changed = { ...agent, ...changes }
    const named = this.#sql.byName.get(changed.name, projectId)
    if (named && named.id !== id) return 'name_taken'
    this.#sql.update.run(agentColumns(changed))
    return changed
  }

  delete(projectId: string, id: string): 'deleted' | 'busy' | undefined {
    if (!this.#sql.byId.get(id, projectId)) return undefined
    if (this.#parts.sessions.hasOpen(id)) return 'busy'
    this.#sql.delete.run(id)
    this.#parts.erasure.add(id)
    return 'deleted'
  }

  changeState({ agentId, from, to, outgoing }: StateChange): {
    changed: boolean
    deliveries: ReturnType<FanOut>
  } {
    const columns = { ...agentStateColumns(to), agentId, from }
    const changed = this.#sql.setState.run(columns).changes === 1
    return { changed, deliveries: changed && outgoing ? this.#parts.fanOut(outgoing) : [] }
  }

  own({ agentIds, ...terms }: OwnRequest): string[] {
    return agentIds.filter((agentId) => this.#sql.own.run({ agentId, ...terms }).changes === 1)
  }

  disown(owner: string): void {
    this.#sql.disown.run(owner)
  }

  reseal(step: ResealStep<Agent>): ResealedRows {
    const rows = this.#sql.after.all(step.after, step.limit)
    const { changed, result } = resealRows(rows, toAgent, step)
    for (const agent of changed) this.#sql.update.run(agentColumns(agent))
    return result
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
  own: db.prepare<[{ readonly agentId: string } & Omit<OwnRequest, 'agentIds'>]>(`
    update agents set owner = @owner, owned_until = @until
    where id = @agentId and (owner is null or owner = @owner or owned_until <= @now)`),
  disown: db.prepare<[string]>(
    'update agents set owner = null, owned_until = null where owner = ?',
  ),
  delete: db.prepare<[string]>('delete from agents where id = ?'),
})
