import type { ExecutionPrincipal, Json, JsonObject, RunError, RunUsage } from './webhooks/events.js'

// Resources as the service returns them. Instants are ISO 8601 in UTC.

/** The result of a send: the answer if it came in time, or else the message's id. */
export type Sent =
  | { readonly messageId: string; readonly status: 'responded'; readonly response: string }
  | { readonly messageId: string; readonly status: 'pending' }

export type NewMessage = {
  readonly sessionId: string
  readonly message: string
  readonly metadata?: JsonObject
  readonly executionPrincipal?: ExecutionPrincipal
}

export type SendOptions = {
  /** One key creates one message. By default each call has a new key for all its retries. */
  readonly idempotencyKey?: string
  /** How many seconds the service waits for the answer. 0 means no wait. */
  readonly waitSeconds?: number
  readonly signal?: AbortSignal
}

export type MessageState =
  | 'queued'
  | 'running'
  | 'deferred'
  | 'input_required'
  | 'responded'
  | 'failed'
  | 'cancelled'
export type Message = {
  readonly messageId: string
  readonly agentId: string
  readonly sessionId: string
  readonly status: 'pending' | 'responded'
  readonly state: MessageState
  readonly message: string
  readonly metadata?: JsonObject
  readonly executionPrincipal: ExecutionPrincipal
  readonly response?: string
  readonly responseTimeMs?: number
  /** The tokens of a model, if the runtime reports them. */
  readonly usage?: RunUsage
  /** The open question. Set if the state is `input_required`. */
  readonly input?: OpenInput
  /** The questions that the message has asked, oldest first. */
  readonly inputs?: readonly Input[]
  readonly attempt: number
  /** Set for a failed or cancelled message. */
  readonly error?: RunError
  readonly createdAt: string
  readonly respondedAt?: string
}

/** A question of an agent to a person. */
export type Input = {
  readonly id: string
  readonly question: string
  /** The answer must be one of these texts. */
  readonly options?: readonly string[]
  /** JSON Schema of the answer. Without a schema and options, the answer is a text. */
  readonly schema?: JsonObject
  /** Only the principal of the message can answer. */
  readonly answerBy?: 'execution_principal'
  readonly askedAt: string
  readonly answer?: InputAnswer
}
/** A question that waits for an answer. */
export type OpenInput = Omit<Input, 'answer'> & { readonly expiresAt: string }
/** Without a principal, the deadline gave the answer. */
export type InputAnswer = {
  readonly value: Json
  readonly executionPrincipal?: ExecutionPrincipal
  readonly answeredAt: string
}
export type NewInputAnswer = {
  readonly inputId: string
  readonly value: Json
  /** The principal that answers. Default: the service. */
  readonly executionPrincipal?: ExecutionPrincipal
}

export type Session = {
  readonly sessionId: string
  /** The number of messages that are not final. */
  readonly openCount: number
  readonly lastMessageId: string
  readonly lastMessageAt: string
}

/** How much data the service keeps of one end user. `openMessages` are not final. */
export type PrincipalTraces = {
  readonly messages: number
  readonly openMessages: number
  readonly deliveries: number
  /** Events without deliveries. */
  readonly events: number
}

export type A2aSetting = {
  readonly enabled: boolean
  readonly description?: string
  /** Absent or empty: the card has one skill, with the agent's name and description. */
  readonly skills?: readonly A2aSkill[]
}
export type A2aSkill = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[]
}
export type Agent = {
  readonly id: string
  readonly name: string
  readonly runtime: { readonly kind: string } & JsonObject
  readonly defaultExecutionPrincipal: ExecutionPrincipal | { readonly type: 'end_user' }
  readonly desiredState: 'running' | 'stopped'
  readonly state: 'stopped' | 'starting' | 'running' | 'stopping' | 'error'
  readonly lastError?: RunError
  /** Failures in a row. Set while the agent is in error. */
  readonly failures?: number
  /** When the service starts the agent again. Unset if an operator must start it. */
  readonly retryAt?: string
  readonly concurrency: number
  readonly maxAttempts: number
  readonly maxQueued: number
  readonly onBusy: 'queue' | 'reject'
  /** Publishes the agent at the A2A endpoint. */
  readonly a2a?: A2aSetting
  readonly createdAt: string
  readonly updatedAt: string
}
export type NewAgent = Pick<Agent, 'name' | 'runtime'> &
  Partial<
    Pick<
      Agent,
      | 'defaultExecutionPrincipal'
      | 'desiredState'
      | 'concurrency'
      | 'maxAttempts'
      | 'maxQueued'
      | 'a2a'
      | 'onBusy'
    >
  >
/** `start` and `stop` change the desired state. */
export type AgentChange = Partial<Omit<NewAgent, 'desiredState'>>
/** `signingSecret`: only for a runtime that signs requests. Shown only once. */
export type CreatedAgent = Agent & { readonly signingSecret?: string }

/** An event must match every given field. An event without a field does not match. */
export type WebhookFilter = {
  readonly agentId?: string
  readonly sessionIdPrefix?: string
  /** Conditions on the metadata of the message. `path` names nested keys with dots. */
  readonly metadata?: readonly MetadataCondition[]
}
export type MetadataCondition =
  | { readonly path: string; readonly equals: string | number | boolean | null }
  | { readonly path: string; readonly exists: boolean }

export type Webhook = {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly filter?: WebhookFilter
  readonly description?: string
  /** Your own headers. The service never shows their values. */
  readonly headers?: { readonly [name: string]: { readonly set: true } }
  readonly disableOnGone: boolean
  /** `session`: the deliveries of one session keep the order of their events. */
  readonly ordering: 'none' | 'session'
  /** Deliveries are kept and not sent. */
  readonly paused: boolean
  /** The most requests at a time, over all processes. Absent: adapts to the receiver. */
  readonly maxConcurrency?: number
  /** The most requests per second, over all processes. Absent: adapts to the receiver. */
  readonly requestsPerSecond?: number
  /** The time limit of one attempt. Absent: the server's setting. */
  readonly timeoutMs?: number
  /** Delays between attempts in milliseconds. Absent: the server's setting. */
  readonly retrySchedule?: readonly number[]
  readonly enabled: boolean
  readonly disabledReason?: 'operator' | 'failing' | 'gone'
  readonly disabledAt?: string
  readonly consecutiveFailures: number
  readonly failingSince?: string
  readonly lastSuccessAt?: string
  readonly lastFailureAt?: string
  /** `open`: no deliveries until `circuitOpenUntil`. `half_open`: one delivery is a test. */
  readonly circuit: 'closed' | 'open' | 'half_open'
  readonly circuitOpenUntil?: string
  /** The limit of the process that answers, which adapts to the receiver. */
  readonly limit?: {
    readonly concurrency: number
    readonly requestsPerSecond?: number
    readonly reason: 'growing' | 'refusals' | 'slots' | 'setting' | 'circuit'
  }
  readonly previousSecretUntil?: string
  readonly createdAt: string
  readonly updatedAt: string
}
export type NewWebhook = Pick<Webhook, 'url' | 'events'> &
  Partial<Pick<Webhook, 'enabled' | 'disableOnGone' | 'ordering' | 'paused'>> &
  Partial<Pick<Webhook, Exclude<Clearable, 'headers'>>> & {
    readonly headers?: { readonly [name: string]: string }
    /** Your own secret: `whsec_` and base64 of 24 to 64 bytes. */
    readonly secret?: string
  }
type Clearable =
  | 'filter'
  | 'description'
  | 'headers'
  | 'maxConcurrency'
  | 'requestsPerSecond'
  | 'timeoutMs'
  | 'retrySchedule'
/** `rotateSecret` changes the secret. */
export type WebhookChange = Partial<Omit<NewWebhook, 'secret' | Clearable>> & {
  readonly [Field in Clearable]?: NewWebhook[Field] | null
}
/** The secret is shown only once. */
export type CreatedWebhook = Webhook & { readonly secret: string }

export type DeliveryStatus = 'pending' | 'delivered' | 'exhausted' | 'cancelled'
export type Delivery = {
  readonly id: string
  readonly webhookId: string
  readonly eventId: string
  readonly event: string
  readonly status: DeliveryStatus
  readonly attemptCount: number
  readonly nextAttemptAt?: string
  /** The delivery that comes first in the order of the session. */
  readonly blockedBy?: string
  readonly deliveredAt?: string
  readonly exhaustedAt?: string
  readonly cancelledAt?: string
  readonly cancelledReason?: string
  readonly createdAt: string
}
/** A message of a search, with the newest 100 deliveries of its events. */
export type FoundMessage = Message & {
  readonly deliveries: readonly Pick<
    Delivery,
    'id' | 'webhookId' | 'event' | 'status' | 'attemptCount'
  >[]
}
export type DeliveryAttempt = {
  readonly attemptNumber: number
  readonly startedAt: string
  readonly durationMs: number
  /** The URL of the request, without userinfo and query. */
  readonly url?: string
  readonly requestHeaders?: { readonly [name: string]: string }
  readonly outcome: 'accepted' | 'refused' | 'unreachable'
  readonly statusCode?: number
  readonly responseBody?: string
  readonly error?: string
  readonly detail?: string
}
export type DeliveryDetail = Delivery & {
  readonly body: string
  readonly attempts: readonly DeliveryAttempt[]
}
export type DeliveryFilter = {
  readonly webhookId?: string
  /** The message or the session that caused the events. */
  readonly messageId?: string
  readonly sessionId?: string
  readonly event?: string
  readonly status?: DeliveryStatus
  readonly createdAfter?: string
  readonly createdBefore?: string
}

/** Selects exhausted deliveries of all webhooks, unless a field says otherwise. */
export type NewRecovery = {
  readonly webhookId?: string
  readonly event?: string
  readonly status?: DeliveryStatus
  /** The status class of the last answer. `none`: the receiver was not reached. */
  readonly lastAnswer?: '2xx' | '3xx' | '4xx' | '5xx' | 'none'
  readonly createdAfter?: string
  readonly createdBefore?: string
}
export type Recovery = {
  readonly id: string
  readonly status: 'running' | 'done' | 'cancelled' | 'failed'
  readonly failure?: string
  readonly filter: NewRecovery
  readonly matched: number
  /** The other matches were due already or being sent. */
  readonly redelivered: number
  readonly createdAt: string
  readonly finishedAt?: string
}

export type Project = {
  readonly id: string
  readonly name: string
  /** The own limits of the project. Absent: the limits of the server. */
  readonly sendLimits?: SendLimits
  readonly createdAt: string
}
/** A token bucket. Its size is `burst`. */
export type SendLimit = { readonly messagesPerMinute: number; readonly burst: number }
/** Limits of all sends of the project together, and of each API key. */
export type SendLimits = { readonly project?: SendLimit; readonly key?: SendLimit }
/** Null removes the own limits. */
export type ProjectChange = { readonly sendLimits: SendLimits | null }

export type UsageCounts = {
  readonly messages: number
  readonly runs: number
  readonly deliveries: number
  readonly attempts: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly inputTokens: number
  readonly outputTokens: number
}
/** What a project used. Dates are days in UTC, such as `2030-01-31`. */
export type Usage = {
  readonly from: string
  readonly to: string
  /** False: the server does not count at this time. */
  readonly isCounted: boolean
  readonly total: UsageCounts
  readonly days: readonly UsageOfDay[]
}
export type UsageOfDay = UsageCounts & { readonly date: string }
/** Both days are included. Default: the last 30 days. */
export type UsageRange = { readonly from?: string; readonly to?: string }

export type AuditAction =
  | 'project.created'
  | 'project.updated'
  | 'key.created'
  | 'key.revoked'
  | 'webhook.created'
  | 'webhook.updated'
  | 'webhook.secret_rotated'
  | 'webhook.rotation_finished'
  | 'webhook.deleted'
  | 'agent.created'
  | 'agent.updated'
  | 'agent.started'
  | 'agent.stopped'
  | 'agent.deleted'
  | 'recovery.started'
  | 'recovery.cancelled'
  | 'portal.created'
  | 'portal.ended'
  | 'session.erased'
  | 'principal.erased'
  | 'input.answered'
  | 'input.withdrawn'
  | 'message.retried'
  | 'message.cancelled'
  | 'delivery.cancelled'
  | 'delivery.redelivered'
export type ActorKind = 'key' | 'operator' | 'console' | 'portal' | 'link' | 'cli' | 'host'
export type AuditEntry = {
  readonly id: string
  readonly projectId: string
  readonly actor: { readonly kind: ActorKind; readonly id?: string }
  readonly action: AuditAction
  readonly targetId: string
  /** The messages of an erased principal that the call found. */
  readonly count?: number
  /** The names of the fields that an update set. */
  readonly fields?: readonly string[]
  readonly createdAt: string
}
export type AuditFilter = {
  readonly action?: AuditAction
  readonly actor?: ActorKind
  readonly targetId?: string
}

export type Permission =
  | 'project:message'
  | 'project:agents'
  | 'project:webhooks'
  | 'project:events'
  | 'project:audit'
  | 'project:admin'
export type ApiKey = {
  readonly id: string
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly createdAt: string
  readonly expiresAt?: string
  readonly revokedAt?: string
}
export type NewApiKey = Pick<ApiKey, 'name' | 'permissions' | 'expiresAt'>
/** The key is shown only once. */
export type CreatedApiKey = ApiKey & { readonly key: string }

export type PortalPermission = 'project:webhooks' | 'project:message'

export type NewPortalLink = {
  /** Default: `project:webhooks`. */
  readonly permissions?: readonly PortalPermission[]
  /** From 60 to 86,400. Default: 3,600. */
  readonly lifetimeSeconds?: number
  /** Must have an origin that the operator allows. */
  readonly returnUrl?: string
}

export type PortalLink = {
  readonly id: string
  /** Opens the portal once. */
  readonly url: string
  readonly permissions: readonly PortalPermission[]
  readonly returnUrl?: string
  readonly createdAt: string
  /** The end of the time to open the link. */
  readonly linkExpiresAt: string
  /** The end of the session. */
  readonly expiresAt: string
}
