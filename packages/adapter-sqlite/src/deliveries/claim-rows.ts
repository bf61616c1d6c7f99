import {
  claimedDelivery,
  toTrace,
  type ClaimedDelivery,
  type ClaimedDeliveryRow,
  type Instant,
  type Webhook,
  type WebhookEvent,
} from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'

type ClaimedRow = ClaimedDeliveryRow & { readonly eventSeq: number }
type Event = Pick<WebhookEvent, 'id' | 'name' | 'body' | 'trace'>
type EventRow = Omit<Event, 'trace'> & { readonly trace: string | null }

/** Events by their `seq`. */
export type Events = Map<number, Event>

/** Claims due deliveries of one webhook. `events` caches events, which many webhooks share. */
export function rowClaims(
  db: Database,
): (
  seqs: readonly number[],
  webhook: Webhook,
  until: Instant,
  events: Events,
) => ClaimedDelivery[] {
  const claim = db.prepare<[Instant, number]>(
    'update deliveries set is_claimed = 1, due_at = ?, lease = lease + 1 where seq = ?',
  )
  const rowOf = db.prepare<[number], ClaimedRow>(`
    select id, event_seq as eventSeq, attempt_count as attemptCount, step, resume_at as resumeAt, lease, order_key as orderKey, created_at as createdAt
    from deliveries where seq = ?`)
  const read = db.prepare<[number], EventRow>(
    'select id, name, body, trace from events where seq = ?',
  )

  function eventOf(seq: number, events: Events): Event {
    const known = events.get(seq)
    if (known) return known
    const { trace, ...row } = read.get(seq) as EventRow
    const event = { ...row, ...toTrace(trace) }
    events.set(seq, event)
    return event
  }

  return (seqs, webhook, until, events) =>
    seqs.map((seq) => {
      claim.run(until, seq)
      const row = rowOf.get(seq) as ClaimedRow
      return claimedDelivery(row, eventOf(row.eventSeq, events), webhook, until)
    })
}
