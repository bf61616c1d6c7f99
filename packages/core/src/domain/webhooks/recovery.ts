import type { Message } from '../messages/message.js'
import { RUN_ERROR_CODES, type RunError } from '../messages/run.js'
import type { Instant } from '../values/instant.js'
import type { SettingsOf } from '../values/setting.js'
import { DELIVERY_STATUSES, type DeliveryFilterStatus } from './delivery.js'
import type { WebhookEvent } from './event.js'
import {
  EVENT_TYPE_PATTERN,
  eventNameRule,
  isPublished,
  MAX_EVENT_TYPE,
  subscribesTo,
  SUBSCRIPTION_PATTERN,
  subscriptionRule,
} from './event-name.js'
import type { Webhook } from './webhook.js'
import { matchesFilter } from './webhook-filter.js'

/** Chooses the deliveries that a recovery sends again. */
export type RecoverySettings = {
  /** Only deliveries of this webhook. */
  readonly webhookId?: string
  /** Only deliveries of events with this name. */
  readonly event?: string
  /** Only deliveries in this state. */
  readonly status?: DeliveryFilterStatus
  /** Only deliveries that were created at this time or later. */
  readonly createdAfter?: Instant | undefined
  /** Only deliveries that were created before this time. */
  readonly createdBefore?: Instant
  /** The status class of the last answer. `none` if the last attempt reached no receiver. */
  readonly lastAnswer?: ResponseClass
}

const RESPONSE_CLASSES = ['2xx', '3xx', '4xx', '5xx', 'none'] as const
export type ResponseClass = (typeof RESPONSE_CLASSES)[number]

/** Lists of deliveries have the same filters. */
export const recoverySettings = {
  webhookId: {
    type: 'string',
    format: 'uuid',
    description: 'Absent: the deliveries of all webhooks.',
  },
  event: {
    type: 'string',
    rule: eventNameRule,
    pattern: EVENT_TYPE_PATTERN,
    maxLength: MAX_EVENT_TYPE,
    description: 'The name of the event.',
  },
  status: {
    type: 'string',
    enum: [...DELIVERY_STATUSES, 'failed'],
    description:
      'The status of the delivery. `failed`: exhausted, or attempted without success, with retries left.',
  },
  createdAfter: { type: 'number', format: 'date-time', description: 'Inclusive.' },
  createdBefore: { type: 'number', format: 'date-time', description: 'Exclusive.' },
  lastAnswer: {
    type: 'string',
    enum: RESPONSE_CLASSES,
    description: 'The status class of the last answer. `none`: the receiver was not reached.',
  },
} as const satisfies SettingsOf<RecoverySettings>

/** Chooses the stored events that a recovery sends to webhooks. */
export type ReplaySettings = {
  /** Each gets the events that it subscribes to, and that match its filter. */
  readonly webhookIds: readonly string[]
  /** Only events with these names, or of these groups. */
  readonly types?: readonly string[] | undefined
  /** Only events that were created at this time or later. */
  readonly createdAfter: Instant
  /** Only events that were created before this time. */
  readonly createdBefore?: Instant | undefined
}
export const replaySettings = {
  webhookIds: {
    type: 'array',
    required: true,
    minItems: 1,
    maxItems: 10,
    items: { type: 'string', format: 'uuid' },
    description: 'Each gets the events that it subscribes to, and that match its filter.',
  },
  types: {
    type: 'array',
    minItems: 1,
    maxItems: 100,
    items: {
      type: 'string',
      rule: subscriptionRule,
      pattern: SUBSCRIPTION_PATTERN,
      maxLength: MAX_EVENT_TYPE,
    },
    description: 'Names, or groups such as `order.*`. Absent: all events.',
  },
  createdAfter: { ...recoverySettings.createdAfter, required: true },
  createdBefore: recoverySettings.createdBefore,
} as const satisfies SettingsOf<ReplaySettings>

/** A row of the log. `agentId` is that of a published event. */
export type ReplayedRow = Pick<WebhookEvent, 'id' | 'name' | 'body' | 'createdAt'> & {
  readonly agentId: string | null
  readonly sessionId: string | null
}

/** Returns the event of the log. */
export function replayedEvent(
  row: ReplayedRow,
  rest: Pick<WebhookEvent, 'projectId' | 'serviceUrl'>,
): WebhookEvent {
  const { id, name, body, createdAt } = row
  const { data } = JSON.parse(body) as { readonly data: WebhookEvent }
  const agentId = isPublished(name) ? (row.agentId ?? undefined) : data.agentId
  return {
    ...rest,
    id,
    name,
    body,
    createdAt,
    data,
    agentId,
    sessionId: row.sessionId ?? undefined,
    metadata: data.metadata,
  }
}

/** Returns true if a recovery can send events with this name to the webhook. */
export const isAskedFor = (
  { events }: Pick<Webhook, 'events'>,
  types: readonly string[] | undefined,
  name: string,
): boolean =>
  name !== 'webhook.test' && subscribesTo(types ?? ['*'], name) && subscribesTo(events, name)

/** Returns true if a recovery sends the event to the webhook. */
export const isReplayed = (
  webhook: Pick<Webhook, 'events' | 'filter'>,
  types: readonly string[] | undefined,
  event: WebhookEvent,
): boolean => isAskedFor(webhook, types, event.name) && matchesFilter(webhook.filter, event)

/** Chooses the failed messages of an agent that a recovery retries. */
export type RetrySettings = {
  /** Only messages that failed with this error. */
  readonly errorCode?: RunError['code'] | undefined
  /** Only messages that were sent at this time or later. */
  readonly createdAfter?: Instant | undefined
  /** Only messages that were sent before this time. */
  readonly createdBefore?: Instant
}
export const retrySettings = {
  errorCode: {
    type: 'string',
    enum: RUN_ERROR_CODES,
    description: 'Only messages that failed with this error.',
  },
  createdAfter: recoverySettings.createdAfter,
  createdBefore: recoverySettings.createdBefore,
} as const satisfies SettingsOf<RetrySettings>

/** A retry of messages looks again after this time, while its agent or the sessions have no room. */
export const RETRY_PAUSE_MS = 5_000

/**
 * A recovery is `running` while it looks for matches, and then `sending` until none of its
 * deliveries is open. One that tries first is `trying` until its first delivery was attempted, and
 * then `running`, or `paused` if the receiver did not accept the delivery. Final states have
 * `finishedAt`. A recovery fails if its webhook is deleted.
 */
export type RecoveryState =
  | { readonly kind: 'running' | 'trying' | 'paused' | 'sending' }
  | { readonly kind: 'done' | 'cancelled'; readonly finishedAt: Instant }
  | { readonly kind: 'failed'; readonly finishedAt: Instant; readonly reason: RecoveryFailure }

export const RECOVERY_FAILURES = ['webhook_deleted', 'agent_deleted'] as const
export type RecoveryFailure = (typeof RECOVERY_FAILURES)[number]

/** How far a recovery is. It goes from the newest delivery to the oldest. */
export type RecoveryProgress = {
  readonly state: RecoveryState
  /** Deliveries that match the filter so far. */
  readonly matched: number
  /** Matches that are due again. The others were due already, or an attempt was running. */
  readonly redelivered: number
  /** The cursor of the next page. Absent before the first page and after the last one. */
  readonly cursor?: string | undefined
}

/** The deliveries that a recovery made due, as they are now. The sum is `redelivered`. */
export type RecoveryCounts = {
  /** Not attempted since. */
  readonly waiting: number
  /** Attempted since, and not accepted yet. */
  readonly failing: number
  readonly delivered: number
  readonly exhausted: number
  /** Cancelled, erased, or made due again by a newer recovery. */
  readonly cancelled: number
}

/** Where a retried message counts. A run that asked a person has not failed. */
export function countedAs({
  state: { kind },
  attempt,
  inputs,
}: Pick<Message, 'state' | 'attempt' | 'inputs'>): keyof RecoveryCounts {
  switch (kind) {
    case 'responded':
      return 'delivered'
    case 'failed':
      return 'exhausted'
    case 'cancelled':
      return 'cancelled'
    default: {
      const failed = attempt > 1 || (attempt === 1 && kind === 'queued')
      return failed && !inputs ? 'failing' : 'waiting'
    }
  }
}

export const NOTHING_SENT: RecoveryCounts = {
  waiting: 0,
  failing: 0,
  delivered: 0,
  exhausted: 0,
  cancelled: 0,
}

/** Returns the state of a recovery whose last page or delivery ended at `lastEndAt`. */
export const recoveryState = (
  state: RecoveryState,
  { waiting, failing }: RecoveryCounts,
  lastEndAt: Instant,
): RecoveryState =>
  state.kind === 'sending' && waiting + failing === 0
    ? { kind: 'done', finishedAt: lastEndAt }
    : state

/** The deliveries that a `trying` recovery made due, also those that were deleted. */
export type Tries = {
  readonly delivered: number
  /** Attempted since, accepted or not. */
  readonly attempted: number
}

/** Returns the state after the tries. It is still `trying` if none of them was attempted. */
export const triedState = ({ delivered, attempted }: Tries): RecoveryState => {
  if (delivered > 0) return { kind: 'running' }
  return { kind: attempted > 0 ? 'paused' : 'trying' }
}

/** Returns the state after a person's decision, or undefined if it is too late for that. */
export function decidedRecovery(
  { kind }: RecoveryState,
  decision: RecoveryDecision,
  now: Instant,
): RecoveryState | undefined {
  if (decision === 'continue') return kind === 'paused' ? { kind: 'running' } : undefined
  const isCancellable = kind === 'running' || kind === 'trying' || kind === 'paused'
  return isCancellable ? { kind: 'cancelled', finishedAt: now } : undefined
}
export type RecoveryDecision = 'continue' | 'cancel'

type Found<T> = { readonly data: readonly T[]; readonly nextCursor: string | null }

/** Ends the page of a `trying` recovery after the first match that can be redelivered. */
export function tryPage<T extends { readonly id: string }>(
  { data, nextCursor }: Found<T>,
  canTry: (match: T) => boolean,
): Found<T> {
  const at = data.findIndex(canTry)
  const tried = data[at]
  return tried && at < data.length - 1
    ? { data: data.slice(0, at + 1), nextCursor: tried.id }
    : { data, nextCursor }
}

type RecoveredPage = {
  readonly matched: number
  readonly count: number
  readonly nextCursor: string | null
}

/** Returns the progress after one more page. The last page ends the search. */
export function recoveryAfterPage(
  before: RecoveryProgress,
  { matched, count, nextCursor }: RecoveredPage,
): RecoveryProgress {
  const counts = {
    matched: before.matched + matched,
    redelivered: before.redelivered + count,
  }
  return nextCursor === null
    ? { ...counts, state: { kind: 'sending' } }
    : { ...counts, state: before.state, cursor: nextCursor }
}
