import type { Queries } from '../database/database.js'
import { sql, type Sql } from '../database/sql.js'

// A sequence gives numbers before the commit, so a transaction that commits later can have a lower
// number. A reader that follows such numbers skips events. So an event is committed without a
// position. A reader that asks gives positions to all committed events of its project, in one
// transaction under the lock of the project's log. A send pays only for one index entry.

type Project = { readonly projectId: string }
type Log = { readonly lastPosition: number }

const addLogsSql = sql<{ readonly projectIds: readonly string[] }>(`
  insert into agent_messaging.event_logs (project_id, last_position, floor)
  select project_id, 0, 0 from unnest(@projectIds::text[]) as given (project_id) order by project_id
  on conflict do nothing`)
const lockSql = sql<{ readonly projectIds: readonly string[] }>(`
  select 1 from agent_messaging.event_logs where project_id = any(@projectIds::text[])
  order by project_id for update`)
const lastSql = sql<Project, Log>(`
  select last_position as "lastPosition" from agent_messaging.event_logs
  where project_id = @projectId`)
const placeSql = sql<Project & Log & { readonly limit: number }>(`
  with placed as (
    update agent_messaging.events e set position = @lastPosition::bigint + next.place
    from (
      select seq, row_number() over (order by seq) as place from (
        select seq from agent_messaging.events
        where project_id = @projectId and position is null order by seq limit @limit) unplaced) next
    where e.seq = next.seq returning 1)
  update agent_messaging.event_logs
  set last_position = @lastPosition::bigint + (select count(*) from placed)
  where project_id = @projectId`)

/** Locks the logs of projects. Lock events only after that, in the order of their seq. */
export async function lockLogs(db: Queries, projectIds: readonly string[]): Promise<void> {
  const given = { projectIds: [...new Set(projectIds)] }
  if (given.projectIds.length === 0) return
  await db.run(addLogsSql, given)
  await db.run(lockSql, given)
}

/**
 * Gives positions to up to `limit` events of the project, within a transaction. The statements
 * after the lock see all events that were committed before.
 */
export async function placeEvents(db: Queries, projectId: string, limit: number): Promise<void> {
  await lockLogs(db, [projectId])
  const { lastPosition = 0 } = (await db.one(lastSql, { projectId })) ?? {}
  await db.run(placeSql, { projectId, lastPosition, limit })
}

/**
 * Runs a statement that deletes events and returns their `project_id` and `position`. Expires the
 * positions before these events. An event without a position takes the next one, so that all
 * positions that readers have expire. Returns the number of deleted events.
 */
export const raiseFloorsSql = <Parameters extends object>(
  deletion: string,
): Sql<Parameters, { readonly count: number }> =>
  sql(`
  with gone as (${deletion}),
    raised as (
      update agent_messaging.event_logs l set
        last_position = l.last_position + g.is_unplaced::int,
        floor = case when g.is_unplaced then l.last_position + 1
          else greatest(l.floor, g.position) end
      from (
        select project_id, max(position) as position, bool_or(position is null) as is_unplaced
        from gone group by project_id) g
      where l.project_id = g.project_id)
  select count(*) as count from gone`)
