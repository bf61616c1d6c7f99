import type { components } from './api.generated.js'

// Resources as the service returns them. Instants are ISO 8601 in UTC. `api.generated.ts` has the
// fields.

type Schemas = components['schemas']

/** The result of a send: the answer if it came in time, or else the message's id. */
export type Sent =
  | { readonly messageId: string; readonly status: 'responded'; readonly response: string }
  | { readonly messageId: string; readonly status: 'pending'; readonly response?: never }

export type SendOptions = {
  /** One key creates one message. By default each call has a new key for all its retries. */
  readonly idempotencyKey?: string
  /** How many seconds the service waits for the answer. 0 means no wait. */
  readonly waitSeconds?: number
  readonly signal?: AbortSignal
}

export type NewMessage = Schemas['NewMessage']
export type NewEvent = Schemas['NewEvent']
export type MessageState = Schemas['MessageState']
export type Message = Schemas['Message']
/** A part of an answer. */
export type Part = Schemas['Part']
/** A change of the parts of an answer while the agent works. */
export type PartEvent = Schemas['PartEvent']
/** A run of a message. A run without `reason` goes on. */
export type MessageRun = Schemas['MessageRun']
/** Why a message or a delivery is where it is. */
export type Story = Schemas['Story']
export type MessageRuns = Schemas['MessageRuns']
/** A message of a search, with the newest 100 deliveries of its events. */
export type FoundMessage = Schemas['FoundMessage']
/** A question of an agent to a person. */
export type Input = Schemas['Input']
/** A question that waits for an answer. */
export type OpenInput = Schemas['OpenInput']
/** Without a principal, the deadline gave the answer. */
export type InputAnswer = Schemas['InputAnswer']
/** Without a principal, the service answers. */
export type NewInputAnswer = Schemas['NewInputAnswer']
export type Session = Schemas['Session']
/** How much data the service keeps of one end user. `openMessages` are not final. */
export type PrincipalTraces = Omit<Schemas['PrincipalTraces'], 'nextCursor'>

export type A2aSetting = Schemas['A2aSetting']
export type A2aSkill = Schemas['A2aSkill']
export type Agent = Schemas['Agent']
export type NewAgent = Schemas['NewAgent']
/** `start` and `stop` change the desired state. */
export type AgentChange = Schemas['AgentChange']
/** `signingSecret`: only for a runtime that signs requests. Shown only once. */
export type CreatedAgent = Schemas['CreatedAgent']

/** An event must match every given field. An event without a field does not match. */
export type WebhookFilter = Schemas['WebhookFilter']
export type FilterCondition = Schemas['FilterCondition']
export type Webhook = Schemas['Webhook']
export type NewWebhook = Schemas['NewWebhook']
/** `rotateSecret` changes the secret. */
export type WebhookChange = Schemas['WebhookChange']
/** The secret is shown only once. */
export type CreatedWebhook = Schemas['CreatedWebhook']

export type DeliveryStatus = Schemas['DeliveryStatus']
export type DeliveryStatusFilter = Schemas['DeliveryStatusFilter']
export type Delivery = Schemas['Delivery']
export type DeliveryAttempt = Schemas['DeliveryAttempt']
export type DeliveryDetail = Schemas['DeliveryDetail']
export type DeliveryFilter = {
  readonly webhookId?: string
  readonly eventId?: string
  /** The message or the session that caused the events. */
  readonly messageId?: string
  readonly sessionId?: string
  readonly event?: string
  readonly status?: DeliveryStatusFilter
  readonly createdAfter?: string
  readonly createdBefore?: string
}
/** Selects exhausted deliveries of all webhooks, unless a field says otherwise. */
export type NewRecovery = Schemas['NewRecovery']
export type NewRetry = Schemas['NewRetry']
export type Recovery = Schemas['Recovery']
export type TestEvent = Schemas['TestEvent']

/** An event in a list, without its data. */
export type ListedEvent = Schemas['ListedEvent']

/** What a put of an event type says. A field that is absent is removed. */
export type EventTypeSettings = Schemas['EventTypeSettings']
/** A type of the catalogue. */
export type EventTypeDefinition = Schemas['EventTypeDefinition']
export type ListedEventType = Schemas['ListedEventType']

export type Project = Schemas['Project']
export type ProjectOverview = Schemas['ProjectOverview']
/** Null removes the own limits. */
export type ProjectChange = Schemas['ProjectChange']
/** A token bucket. Its size is `burst`. */
export type SendLimit = Schemas['SendLimit']
/** Limits of all sends of the project together, and of each API key. */
export type SendLimits = Schemas['SendLimits']

export type UsageCounts = Schemas['UsageCounts']
/** What a project used. Dates are days in UTC, such as `2030-01-31`. */
export type Usage = Schemas['Usage']
export type UsageOfDay = Schemas['UsageOfDay']
export type PeopleToday = Schemas['PeopleToday']
/** Both days are included. Default: the last 30 days. */
export type UsageRange = { readonly from?: string; readonly to?: string }
export type Counts = Schemas['Counts']
export type Stats = Schemas['Stats']
export type Failures = Schemas['Failures']
export type Failure = Schemas['Failure']
export type StatsRow = Schemas['StatsRow']
/** `from` is in the first step, and `to` in the last one. */
export type StatsQuery = {
  readonly from?: string
  readonly to?: string
  /** Default: `1h`. */
  readonly step?: '5m' | '1h' | '1d'
  /** Counts of each agent or webhook. Default: of the project. */
  readonly by?: 'agent' | 'webhook'
  /** The id of one agent or webhook. */
  readonly id?: string
}

export type AuditAction = Schemas['AuditAction']
export type ActorKind = Schemas['ActorKind']
export type AuditEntry = Schemas['AuditEntry']
export type AuditFilter = {
  readonly action?: AuditAction
  readonly actor?: ActorKind
  readonly targetId?: string
}

export type Permission = Schemas['Permission']
export type Role = Schemas['Role']
export type ApiKey = Schemas['ApiKey']
export type NewApiKey = Schemas['NewApiKey']
/** The key is shown only once. */
export type CreatedApiKey = Schemas['CreatedApiKey']
export type PlatformPermission = Schemas['PlatformPermission']
export type PlatformKey = Schemas['PlatformKey']
export type NewPlatformKey = Schemas['NewPlatformKey']
/** The key is shown only once. */
export type CreatedPlatformKey = Schemas['CreatedPlatformKey']

export type PortalPermission = Schemas['PortalPermission']
export type NewSessionToken = Schemas['NewSessionToken']
export type SessionToken = Schemas['SessionToken']
export type NewPortalLink = Schemas['NewPortalLink']
export type PortalLink = Schemas['PortalLink']
