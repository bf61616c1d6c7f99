import type { Instant } from '@org/agent-messaging-core'
import {
  isReplayed,
  ownBody,
  replayedEvent,
  toWebhook,
  type RecoveryStep,
  type RecoveryTask,
  type ReplayedRow,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { atMost } from './dialect.js'
import { all, one, run, sql, type Operation } from './operation.js'
import { selectWebhook } from './webhook-rows.js'

type Seq = { readonly seq: number }
type Range = {
  readonly projectId: string
  readonly after: number
  readonly last: number
  readonly createdAfter: Instant
  readonly createdBefore: Instant
  readonly limit: number
}

/** A page reads this many events at most, so that it blocks no other write for long. */
const MOST_READ = 5_000

const webhooksOf = sql<
  { readonly projectId: string; readonly webhookIds: readonly string[] },
  WebhookRow
>(
  (d) => `
    ${selectWebhook(d)} where ${d.oneOf('w.id', 'webhookIds')} and w.project_id = @projectId
      and ${d.not('w.is_deleted')} and w.message_id is null ${d.lock('no key update', 'w.seq')}`,
)
const lastOfPage = sql<{ readonly after: number; readonly skipped: number }, Seq>(
  ({ schema }) => `
    select seq from ${schema}events where seq > @after order by seq limit 1 offset @skipped + 0`,
)
/** The lock keeps the events until they have a delivery. */
const eventsOf = sql<Range, Seq & ReplayedRow>(
  (d) => `
    select seq, id, name, body, created_at as "createdAt", agent_id as "agentId",
      session_id as "sessionId"
    from ${d.schema}events
    where project_id = @projectId and seq > @after and seq <= @last
      and created_at >= @createdAfter and created_at < @createdBefore
    order by seq ${atMost('@limit')} ${d.lock('update')}`,
)
const keep = sql<{ readonly seqs: readonly number[] }>(
  ({ schema, oneOf, not }) => `
    update ${schema}events set has_deliveries = true
    where ${oneOf('seq', 'seqs', 'bigint')} and ${not('has_deliveries')}`,
)
const insert = sql<{ readonly rows: string }>(
  ({ schema, records }) => `
    insert into ${schema}deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step,
      attempt_count, due_at, lease, body, recovery_seq, recovery_attempts, created_at)
    select id, project_id, webhook_seq, webhook_seq, event_seq, 'pending', 0, 0, created_at, 0, body,
      recovery_seq, 0, created_at
    from ${records('rows', {
      id: 'text',
      project_id: 'text',
      webhook_seq: 'bigint',
      event_seq: 'bigint',
      body: 'text',
      recovery_seq: 'bigint',
      created_at: 'bigint',
    })} as given`,
)

type ReplayPage = { readonly count: number; readonly nextCursor: string | null }

/** Makes the next deliveries of a recovery. Returns undefined if its webhooks are deleted. */
export function* replayPage(
  { projectId, filter, cursor = '0' }: RecoveryTask,
  webhookIds: readonly string[],
  recoverySeq: number,
  { limit, now, nextDeliveryId, serviceUrl }: RecoveryStep,
): Operation<ReplayPage | undefined> {
  const webhooks = (yield* all(webhooksOf, { projectId, webhookIds })).map((row) => ({
    seq: row.seq,
    webhook: toWebhook(row),
  }))
  if (webhooks.length === 0) return undefined
  const { types, createdAfter = 0, createdBefore } = filter
  const after = Number(cursor)
  const end = yield* one(lastOfPage, { after, skipped: MOST_READ - 1 })
  const last = end?.seq ?? Number.MAX_SAFE_INTEGER
  const range = { projectId, after, last, createdAfter, createdBefore, limit }
  const found = yield* all(eventsOf, range)
  const rest = { projectId, ...(serviceUrl !== undefined && { serviceUrl }) }
  const rows = found.flatMap((row) => {
    const event = replayedEvent(row, rest)
    return webhooks
      .filter(({ webhook }) => isReplayed(webhook, types, event))
      .map(({ seq, webhook }) => ({
        id: nextDeliveryId(),
        project_id: projectId,
        webhook_seq: seq,
        event_seq: row.seq,
        body: ownBody(webhook, event),
        recovery_seq: recoverySeq,
        created_at: now,
      }))
  })
  if (rows.length > 0) {
    yield* run(insert, { rows: JSON.stringify(rows) })
    yield* run(keep, { seqs: [...new Set(rows.map(({ event_seq }) => event_seq))] })
  }
  const next = found.length === limit ? found.at(-1)?.seq : end?.seq
  return { count: rows.length, nextCursor: next === undefined ? null : String(next) }
}
