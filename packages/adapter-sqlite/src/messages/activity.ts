import type { ActivityQuery, AttemptCount, MessageCount } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import { atMost, preparedOnce } from '../database/statements.js'

// Both read at most `newest` rows of each agent, or of all deliveries, by an index. The plus sign
// keeps the planner from the index of the creation times, which does not know that limit.

export const messageActivitySql = `
  select created_at - created_at % @bucketMs as at, state, count(*) as count from (
    select m.created_at, m.state from agents a cross join messages m on m.agent_id = a.id
    where a.project_id = @projectId and m.seq >=
      coalesce((select seq from messages where agent_id = a.id order by seq desc limit 1 offset @newest - 1), 0))
  where +created_at >= @since group by 1, 2`

export const attemptActivitySql = `
  select started_at - started_at % @bucketMs as at, w.id as webhookId, coalesce(outcome ->> 'statusCode', 0) as statusCode, count(*) as count
  from (select seq, webhook_seq from deliveries where project_id = @projectId order by seq desc ${atMost('@newest')}) d
    cross join attempts t on t.delivery_seq = d.seq cross join webhooks w on w.seq = d.webhook_seq
  where started_at >= @since group by 1, 2, 3`

/** `MessageStore.activity`. */
export function messageActivity(db: Database): (query: ActivityQuery) => MessageCount[] {
  const statement = preparedOnce<ActivityQuery, MessageCount>(db)
  return (query) => statement(messageActivitySql).all(query)
}

/** `DeliveryStore.activity`. */
export function attemptActivity(db: Database): (query: ActivityQuery) => AttemptCount[] {
  const statement = preparedOnce<ActivityQuery, AttemptCount>(db)
  return (query) => statement(attemptActivitySql).all(query)
}
