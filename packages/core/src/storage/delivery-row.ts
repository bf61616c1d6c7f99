import type {
  AfterAttempt,
  CancelReason,
  DeliveryAttempt,
  DeliveryState,
  WebhookDelivery,
} from '../domain/webhooks/delivery.js'

/** A delivery with the ids of its webhook and its event, and with the name of the event. */
export type DeliveryRow = {
  readonly seq: number
  readonly id: string
  readonly projectId: string
  readonly webhookId: string
  readonly eventId: string
  readonly event: string
  readonly attemptCount: number
  readonly state: Exclude<DeliveryState['kind'], 'waiting'>
  readonly step: number
  readonly dueAt: number | null
  readonly resumeAt: number | null
  readonly finishedAt: number | null
  readonly cancelledReason: CancelReason | null
  readonly orderKey: string | null
  /** The delivery that this one waits for. Null if this one does not wait. */
  readonly blockedBy: string | null
  readonly createdAt: number
}

/**
 * `dueAt` of an open delivery that waits for another one of its order key. A claim looks for due
 * deliveries, so it never finds this one.
 */
export const WAITING = Number.MAX_SAFE_INTEGER

/** The columns that are in the table of deliveries, except `state`. */
export const DELIVERY_COLUMNS = [
  'seq',
  'id',
  'projectId',
  'attemptCount',
  'step',
  'dueAt',
  'resumeAt',
  'finishedAt',
  'cancelledReason',
  'orderKey',
  'createdAt',
] as const satisfies readonly (keyof DeliveryRow)[]

export const toDelivery = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  projectId: row.projectId,
  webhookId: row.webhookId,
  eventId: row.eventId,
  event: row.event,
  attemptCount: row.attemptCount,
  state: toState(row),
  ...(row.orderKey !== null && { orderKey: row.orderKey }),
  createdAt: row.createdAt,
})

/** An open row has `dueAt`, a final row has `finishedAt`. No row has the state `waiting`. */
function toState(row: DeliveryRow): DeliveryState {
  const kind = row.state
  const dueAt = row.dueAt as number
  const finishedAt = row.finishedAt as number
  const resume = row.resumeAt === null ? {} : { resumeAt: row.resumeAt }
  switch (kind) {
    case 'pending':
      if (dueAt === WAITING) return { kind: 'waiting', blockedBy: row.blockedBy as string }
      return { kind, nextAttemptAt: dueAt, step: row.step, ...resume }
    case 'sending':
      return { kind, leaseUntil: dueAt, step: row.step, ...resume }
    case 'delivered':
      return { kind, deliveredAt: finishedAt }
    case 'exhausted':
      return { kind, exhaustedAt: finishedAt }
    case 'cancelled':
      return { kind, cancelledAt: finishedAt, reason: row.cancelledReason ?? 'webhook_deleted' }
  }
}

type AfterAttemptColumns = {
  readonly dueAt: number | null
  readonly finishedAt: number | null
  /** Null if the step does not change. */
  readonly step: number | null
}

export function afterAttemptColumns(state: AfterAttempt): AfterAttemptColumns {
  switch (state.kind) {
    case 'pending':
      return { dueAt: state.nextAttemptAt, finishedAt: null, step: state.step }
    case 'delivered':
      return { dueAt: null, finishedAt: state.deliveredAt, step: null }
    case 'exhausted':
      return { dueAt: null, finishedAt: state.exhaustedAt, step: null }
  }
}

/** An attempt with the names of its request headers, which attempts share, and their values. */
export type AttemptRow = Omit<DeliveryAttempt, 'outcome' | 'requestHeaders' | 'url'> & {
  readonly url: string | null
  readonly outcome: string
  readonly headerNames: string | null
  readonly headerValues: string | null
}

export const toAttempt = ({
  attemptNumber,
  startedAt,
  durationMs,
  url,
  outcome,
  headerNames,
  headerValues,
}: AttemptRow): DeliveryAttempt => ({
  attemptNumber,
  startedAt,
  durationMs,
  ...(url !== null && { url }),
  ...toHeaders(headerNames, headerValues),
  outcome: JSON.parse(outcome) as DeliveryAttempt['outcome'],
})

/**
 * The names and the values of headers, one per line. A header that was sent contains no line break.
 */
export const headerLines = (
  headers: Readonly<Record<string, string>>,
): { readonly names: string; readonly values: string } => ({
  names: Object.keys(headers).join('\n'),
  values: Object.values(headers).join('\n'),
})

function toHeaders(names: string | null, values: string | null) {
  if (names === null || values === null) return {}
  const lines = values.split('\n')
  return {
    requestHeaders: Object.fromEntries(
      names.split('\n').map((name, at) => [name, lines[at] ?? '']),
    ),
  }
}
