import type { ActivityQuery, AttemptCount, MessageCount } from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { sql } from '../database/sql.js'

// Both statements read at most `newest` rows by an index, of each agent or of all deliveries.

const messageActivitySql = sql<ActivityQuery, MessageCount>(`
  select m.created_at - m.created_at % @bucketMs::bigint as at, m.state, count(*) as count
  from agent_messaging.agents a cross join lateral (
    select created_at, state from agent_messaging.messages where agent_id = a.id
    order by seq desc limit @newest) m
  where a.project_id = @projectId and m.created_at >= @since group by 1, 2`)

const attemptActivitySql = sql<ActivityQuery, AttemptCount>(`
  select t.started_at - t.started_at % @bucketMs::bigint as at, w.id as "webhookId",
    coalesce((t.outcome::json ->> 'statusCode')::bigint, 0) as "statusCode", count(*) as count
  from (
    select seq, webhook_seq from agent_messaging.deliveries where project_id = @projectId
    order by seq desc limit @newest) d
    join agent_messaging.attempts t on t.delivery_seq = d.seq
    join agent_messaging.webhooks w on w.seq = d.webhook_seq
  where t.started_at >= @since group by 1, 2, 3`)

/** `MessageStore.activity`. */
export const messageActivity = (db: Queries, query: ActivityQuery): Promise<MessageCount[]> =>
  db.all(messageActivitySql, query)

/** `DeliveryStore.activity`. */
export const attemptActivity = (db: Queries, query: ActivityQuery): Promise<AttemptCount[]> =>
  db.all(attemptActivitySql, query)
