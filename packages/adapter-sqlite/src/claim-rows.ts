import type { Database } from 'better-sqlite3'
import type {
  ClaimedDelivery,
  Instant,
  Webhook,
  WebhookEvent,
} from '@org/agent-messaging-core/storage'
import { toTrace } from './trace.js'

type ClaimedRow = {
  readonly id: string
  readonly eventSeq: number
  readonly attemptCount: number
  readonly step: number
  readonly resumeAt: Instant | null
  readonly lease: number
  readonly createdAt: Instant
}
type EventRow = Pick<WebhookEvent, 'id' | 'name' | 'body'> & { readonly trace: string | null }

/** Events by their `seq`. */
export type Events = Map<number, EventRow>

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
    select id, event_seq as eventSeq, attempt_count as attemptCount, step, resume_at as resumeAt, lease, created_at as createdAt
    from deliveries where seq = ?`)
  const read = db.prepare<[number], EventRow>(
    'select id, name, body, trace from events where seq = ?',
  )

  function eventOf(seq: number, events: Events): EventRow {
    const event = (events.get(seq) ?? read.get(seq)) as EventRow
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

function claimedDelivery(
  row: ClaimedRow,
  event: EventRow,
  webhook: Webhook,
  until: Instant,
): ClaimedDelivery {
  const { id, attemptCount, step, resumeAt, lease, createdAt } = row
  const state = {
    kind: 'sending',
    leaseUntil: until,
    step,
    ...(resumeAt !== null && { resumeAt }),
  } as const
  const names = {
    id,
    projectId: webhook.projectId,
    webhookId: webhook.id,
    eventId: event.id,
    event: event.name,
  }
  const delivery = { ...names, attemptCount, state, createdAt }
  return {
    delivery,
    lease: { token: lease, until },
    webhook,
    body: event.body,
    ...toTrace(event.trace),
  }
}
