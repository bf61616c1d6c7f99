import type {
  CancelReason,
  DeliveryState,
  DeliveryStatus,
  EventName,
  WebhookDelivery,
} from '@org/agent-messaging-core/storage'

/** A delivery with the ids of its event and its webhook. */
export type DeliveryRow = {
  readonly seq: number
  readonly id: string
  readonly projectId: string
  readonly webhookId: string
  readonly eventId: string
  readonly event: EventName
  readonly attemptCount: number
  readonly state: DeliveryStatus
  readonly isClaimed: 0 | 1
  readonly step: number
  readonly dueAt: number | null
  readonly resumeAt: number | null
  readonly lease: number
  readonly finishedAt: number | null
  readonly cancelledReason: CancelReason | null
  readonly createdAt: number
}

/** A delivery with the body to send. */
export type DeliveryRowWithBody = DeliveryRow & {
  readonly body: string
  readonly trace: string | null
}

const columns = `
  d.seq, d.id, d.project_id as projectId, w.id as webhookId, e.id as eventId, e.name as event,
  d.attempt_count as attemptCount, d.state, d.is_claimed as isClaimed, d.step, d.due_at as dueAt, d.resume_at as resumeAt, d.lease,
  d.finished_at as finishedAt, d.cancelled_reason as cancelledReason, d.created_at as createdAt`
const joined =
  'from deliveries d join events e on e.seq = d.event_seq join webhooks w on w.seq = d.webhook_seq'

/** Append a `where`. */
export const selectDelivery = `select ${columns} ${joined}`
export const selectDeliveryWithBody = `select ${columns}, e.body, e.trace ${joined}`

export const toDelivery = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  projectId: row.projectId,
  webhookId: row.webhookId,
  eventId: row.eventId,
  event: row.event,
  attemptCount: row.attemptCount,
  state: toState(row),
  createdAt: row.createdAt,
})

/** Open rows have `due_at`, final ones `finished_at`. */
function toState(row: DeliveryRow): DeliveryState {
  const {
    state: kind,
    step,
    dueAt,
    finishedAt,
  } = row as DeliveryRow & { readonly dueAt: number; readonly finishedAt: number }
  const extra = row.resumeAt === null ? {} : { resumeAt: row.resumeAt }
  switch (kind) {
    case 'pending':
      return row.isClaimed
        ? { kind: 'sending', leaseUntil: dueAt, step, ...extra }
        : { kind, nextAttemptAt: dueAt, step, ...extra }
    case 'delivered':
      return { kind, deliveredAt: finishedAt }
    case 'exhausted':
      return { kind, exhaustedAt: finishedAt }
    case 'cancelled':
      return { kind, cancelledAt: finishedAt, reason: row.cancelledReason ?? 'webhook_deleted' }
  }
}
