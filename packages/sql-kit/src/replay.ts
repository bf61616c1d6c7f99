import {
  isAskedFor,
  isReplayed,
  ownBody,
  replayedEvent,
  toWebhook,
  type RecoveryStep,
  type RecoveryTask,
  type ReplayedRow,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { all, run, sql, type Operation } from './operation.js'
import { byPlace, logPart, type NewestRow } from './published-events.js'
import { selectWebhook } from './webhook-rows.js'

type Seqs = { readonly seqs: readonly number[] }
/** The events up to this position were read, and without a position those up to this `seq`. */
type Place = { readonly position: number; readonly seq: number }
type Range = Place & { readonly projectId: string; readonly rows: number }

/** A page looks at this many events at most, so that it blocks no other write for long. */
const MOST_READ = 500

const webhooksOf = sql<
  { readonly projectId: string; readonly webhookIds: readonly string[] },
  WebhookRow
>(
  (d) => `
    ${selectWebhook(d)} where ${d.oneOf('w.id', 'webhookIds')} and w.project_id = @projectId
      and ${d.not('w.is_deleted')} and w.message_id is null ${d.lock('no key update', 'w.seq')}`,
)
const placed = logPart(
  (position) => `${position} is not null and ${position} > @position and seq > @seq`,
  (position) => position,
)
const unplaced = logPart(
  (position) => `${position} is null and seq > @seq`,
  () => 'seq',
)
/** Both parts in one snapshot, because an event gets its position at any time. */
export const oldestEvents = sql<Range, NewestRow>((d) => `${placed(d)} union all ${unplaced(d)}`)
/** The lock keeps the events until they have a delivery. */
const eventsOf = sql<Seqs, ReplayedRow & { readonly seq: number }>(
  (d) => `
    select seq, id, name, body, created_at as "createdAt", agent_id as "agentId",
      session_id as "sessionId"
    from ${d.schema}events where ${d.oneOf('seq', 'seqs', 'bigint')} ${d.lock('update', 'seq')}`,
)
const keep = sql<Seqs>(
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
  const [position = 0, seq = 0] = cursor.split('.').map(Number)
  const after = { position, seq }
  const read = (yield* all(oldestEvents, { projectId, ...after, rows: MOST_READ }))
    .toSorted(byPlace)
    .slice(0, MOST_READ)
  const asked = read.filter(
    ({ name, createdAt }) =>
      createdAt >= createdAfter &&
      createdAt < createdBefore &&
      webhooks.some(({ webhook }) => isAskedFor(webhook, types, name)),
  )
  const chosen = asked.slice(0, limit)
  const end = asked[limit - 1]
  const done = end ? read.slice(0, read.indexOf(end) + 1) : read
  const found = yield* all(eventsOf, { seqs: chosen.map((row) => row.seq) })
  const rest = { projectId, serviceUrl }
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
  const isLast = !end && read.length < MOST_READ
  return { count: rows.length, nextCursor: isLast ? null : cursorAfter(done, after) }
}

function cursorAfter(rows: readonly NewestRow[], after: Place): string {
  const { position } = rows.findLast((row) => row.position !== null) ?? after
  const { seq } = rows.findLast((row) => row.position === null) ?? after
  return `${position}.${seq}`
}
