import type { Instant } from '../values/instant.js'
import { toIso } from '../values/instant.js'
import type { Json, JsonObject } from '../values/json.js'
import type { ExecutionPrincipal } from '../access/principal.js'
import type { Part } from '../messages/part.js'
import type { RunError } from '../messages/run.js'
import type { TraceContext } from '../messages/trace.js'
import type { UnreachableError } from '../values/unreachable-error.js'
import type { FilteredEvent } from './webhook-filter.js'
import type { RunUsage } from '../operations/usage.js'

/** The events that a webhook can subscribe to. */
export const EVENT_NAMES = [
  'message.responded',
  'message.failed',
  'message.cancelled',
  'message.input_required',
  'message.input_reminder',
  'message.input_received',
  'agent.started',
  'agent.stopped',
  'agent.error',
  'webhook.failing',
  'webhook.recovered',
  'webhook.disabled',
  'delivery.exhausted',
] as const
export type SubscribableEvent = (typeof EVENT_NAMES)[number]
/** `webhook.test` goes to one webhook, at an operator's request. */
export type EventName = SubscribableEvent | 'webhook.test'
export const LOGGED_EVENTS: readonly EventName[] = [...EVENT_NAMES, 'webhook.test']

/** The metadata as sent, and two of its keys at the top if it has them. */
type Echo = {
  readonly metadata: JsonObject
  readonly channel?: Json
  readonly correlationId?: Json
}

/** The message that an event is about. */
type OfMessage = Echo & {
  readonly messageId: string
  readonly agentId: string
  readonly sessionId: string
  readonly executionPrincipal: ExecutionPrincipal
}

type QuestionData = OfMessage & {
  readonly input: {
    readonly id: string
    readonly question: string
    readonly options?: readonly string[]
    readonly schema?: JsonObject
    readonly answerBy?: 'execution_principal'
    readonly askedAt: string
    readonly expiresAt: string
  }
  /** A page where a person can answer once. Only receivers of webhooks get it. */
  readonly inputUrl?: string
}

type AgentChange = { readonly agentId: string; readonly runtime: string }

/** What an event tells other receivers of a failed attempt. */
export type FailedAttempt =
  | { readonly outcome: 'refused'; readonly statusCode: number }
  | { readonly outcome: 'unreachable'; readonly error: UnreachableError }

/**
 * The data of each event. Events about webhooks and deliveries leave out the URL, which can contain
 * a secret, because other receivers get these events.
 */
export type EventData = {
  readonly 'message.responded': OfMessage & {
    readonly response: string
    /** Only for webhooks with `payload: "parts"`, and for readers that ask. */
    readonly parts?: readonly Part[]
    /** The agent emitted more parts, or a body has no room for them. */
    readonly partsTruncated?: true
    /** The time from the start of the answering run to its answer. */
    readonly responseTimeMs: number
    readonly usage?: RunUsage | undefined
  }
  readonly 'message.failed': OfMessage & { readonly error: RunError; readonly failedAt: string }
  readonly 'message.cancelled': OfMessage & { readonly cancelledAt: string }
  readonly 'message.input_required': QuestionData
  readonly 'message.input_reminder': QuestionData
  readonly 'message.input_received': QuestionData & {
    /** Without a principal, the answer is the one that the agent gave for the deadline. */
    readonly answer: {
      readonly value: Json
      readonly executionPrincipal?: ExecutionPrincipal
      readonly answeredAt: string
    }
  }
  readonly 'agent.started': AgentChange & { readonly startedAt: string }
  readonly 'agent.stopped': AgentChange & { readonly stoppedAt: string }
  /** Has the fields of a message if a message caused the event. */
  readonly 'agent.error': Partial<OfMessage> & {
    readonly agentId: string
    readonly error: RunError
  }
  readonly 'webhook.failing': {
    readonly webhookId: string
    readonly consecutiveFailures: number
    readonly failingSince: string
    readonly circuitOpenUntil: string
    readonly lastAttempt: FailedAttempt
  }
  /** `failingSince` is that of the `webhook.failing` before. */
  readonly 'webhook.recovered': {
    readonly webhookId: string
    readonly failingSince: string
    readonly recoveredAt: string
  }
  readonly 'webhook.disabled': {
    readonly webhookId: string
    readonly reason: 'failing' | 'gone'
    readonly disabledAt: string
    readonly consecutiveFailures: number
    readonly failingSince: string
  }
  /** The delivery and its event, without the body. */
  readonly 'delivery.exhausted': {
    readonly deliveryId: string
    readonly webhookId: string
    readonly eventId: string
    readonly event: string
    readonly attemptCount: number
    readonly lastAttempt: FailedAttempt
    readonly exhaustedAt: string
  }
  readonly 'webhook.test': { readonly webhookId: string }
}

/** A fact that webhooks report. */
export type EventPayload = {
  readonly [Name in EventName]: { readonly event: Name; readonly data: EventData[Name] }
}[EventName]

/** What is stored with a published event and is not in its body. */
type Publishing = {
  readonly endUserId?: string
  /** Of the content, if the host gave the event its id. */
  readonly fingerprint?: string
}

/** An `Idempotency-Key`, and the fingerprint of all events of its request. */
export type PublishRequest = { readonly key: string; readonly fingerprint: string }

/**
 * An event. Every attempt of every delivery sends exactly the characters of `body`, as UTF-8. An
 * agent's event has `agentId`. A message's event also has the message's id, session and metadata.
 */
export type WebhookEvent = FilteredEvent & {
  readonly id: string
  readonly projectId: string
  readonly messageId?: string | undefined
  readonly name: string
  readonly body: string
  /** The address of the service, for thin bodies. Not stored. */
  readonly serviceUrl?: string | undefined
  /** The body for webhooks with `payload: "parts"`, if the event is of an answer with parts. */
  readonly partsBody?: string
  /** The trace context of the request that caused the event. */
  readonly trace?: TraceContext | undefined
  /** Present if a host published the event. */
  readonly published?: Publishing
  readonly createdAt: Instant
}

export function echoOf(metadata: JsonObject = {}): Echo {
  const echo: { metadata: JsonObject; channel?: Json; correlationId?: Json } = { metadata }
  if (Object.hasOwn(metadata, 'channel')) echo.channel = metadata['channel'] ?? null
  if (Object.hasOwn(metadata, 'correlationId'))
    echo.correlationId = metadata['correlationId'] ?? null
  return echo
}

/** The content of an event's body. */
export type EventOf<N extends EventName> = Extract<EventPayload, { readonly event: N }> & {
  readonly id: string
  readonly createdAt: string
}

/** The bytes of all deliveries with full bodies: `{"event","id","createdAt","data"}`. */
export const frozen = (event: string, id: string, now: Instant, data: object): string =>
  JSON.stringify({ event, id, createdAt: toIso(now), data })

/** Creates an event of the service. */
export function freezeEvent(
  payload: EventPayload,
  id: string,
  projectId: string,
  now: Instant,
  serviceUrl?: string,
): WebhookEvent {
  const body = frozen(payload.event, id, now, payload.data)
  const data: object = payload.data
  const { agentId, messageId, sessionId, metadata }: EventSubject = data
  return {
    id,
    projectId,
    name: payload.event,
    body,
    createdAt: now,
    data,
    serviceUrl,
    agentId,
    messageId,
    sessionId,
    metadata,
  }
}

/** The fields of an event's data that the event has too. */
type EventSubject = FilteredEvent & Pick<WebhookEvent, 'messageId'>
