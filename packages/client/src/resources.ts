import type { ExecutionPrincipal, JsonObject, RunError } from './webhooks/events.js'

/** Resources as the service answers with them; instants are ISO 8601 in UTC. */

/** What a send comes to: the answer if it came in time, else where to look for it. */
export type Sent =
  | { readonly messageId: string; readonly status: 'responded'; readonly response: string }
  | { readonly messageId: string; readonly status: 'pending' }

export type NewMessage = {
  readonly sessionId: string
  readonly message: string
  readonly metadata?: JsonObject
  readonly executionPrincipal?: ExecutionPrincipal
}

export type MessageState = 'queued' | 'running' | 'deferred' | 'responded' | 'failed' | 'cancelled'
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
  readonly attempt: number
  /** Of one that failed, or was cancelled. */
  readonly error?: RunError
  readonly createdAt: string
  readonly respondedAt?: string
}

export type Session = {
  readonly sessionId: string
  /** Of its messages, those that are not final. */
  readonly openCount: number
  readonly lastMessageId: string
  readonly lastMessageAt: string
}

/** Numbers of what was done on behalf of one end user. `openMessages` are not final. */
export type PrincipalTraces = {
  readonly messages: number
  readonly openMessages: number
  readonly deliveries: number
}

export type Agent = {
  readonly id: string
  readonly name: string
  readonly runtime: { readonly kind: string } & JsonObject
  readonly defaultExecutionPrincipal: ExecutionPrincipal | { readonly type: 'end_user' }
  readonly desiredState: 'running' | 'stopped'
  readonly state: 'stopped' | 'starting' | 'running' | 'stopping' | 'error'
  readonly lastError?: RunError
  /** In a row, while it is in error; and when it is tried again, unless it has to be started by hand. */
  readonly failures?: number
  readonly retryAt?: string
  readonly concurrency: number
  readonly maxAttempts: number
  readonly maxQueued: number
  readonly onBusy: 'queue' | 'reject'
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
      | 'onBusy'
    >
  >
/** What is wanted of it is changed by `start` and `stop`. */
export type AgentChange = Partial<Omit<NewAgent, 'desiredState'>>
/** `signingSecret`: of a runtime whose requests are signed, shown this once. */
export type CreatedAgent = Agent & { readonly signingSecret?: string }

export type Webhook = {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly agentId?: string
  readonly description?: string
  /** The headers of your own that go along: their values are never shown. */
  readonly headers?: { readonly [name: string]: { readonly set: true } }
  readonly disableOnGone: boolean
  readonly enabled: boolean
  readonly disabledReason?: 'operator' | 'failing' | 'gone'
  readonly disabledAt?: string
  readonly consecutiveFailures: number
  readonly failingSince?: string
  readonly lastSuccessAt?: string
  readonly lastFailureAt?: string
  /** Open: nothing is sent until `circuitOpenUntil`. Half open: one delivery goes ahead of the rest. */
  readonly circuit: 'closed' | 'open' | 'half_open'
  readonly circuitOpenUntil?: string
  readonly previousSecretUntil?: string
  readonly createdAt: string
  readonly updatedAt: string
}
export type NewWebhook = Pick<Webhook, 'url' | 'events'> &
  Partial<Pick<Webhook, 'agentId' | 'description' | 'enabled' | 'disableOnGone'>> & {
    readonly headers?: { readonly [name: string]: string }
    /** Your own, `whsec_` and base64 of 24 to 64 bytes; made when absent. */
    readonly secret?: string
  }
type Clearable = 'agentId' | 'description' | 'headers'
/** The secret is changed by `rotateSecret`. */
export type WebhookChange = Partial<Omit<NewWebhook, 'secret' | Clearable>> & {
  readonly [Field in Clearable]?: NewWebhook[Field] | null
}
/** The secret is shown this once. */
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
  readonly deliveredAt?: string
  readonly exhaustedAt?: string
  readonly cancelledAt?: string
  readonly cancelledReason?: string
  readonly createdAt: string
}
export type DeliveryAttempt = {
  readonly attemptNumber: number
  readonly startedAt: string
  readonly durationMs: number
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
  readonly event?: string
  readonly status?: DeliveryStatus
  readonly createdAfter?: string
  readonly createdBefore?: string
}

export type Permission = 'project:message' | 'project:agents' | 'project:webhooks' | 'project:admin'
export type ApiKey = {
  readonly id: string
  readonly name: string
  readonly permissions: readonly Permission[]
  readonly createdAt: string
  readonly expiresAt?: string
  readonly revokedAt?: string
}
export type NewApiKey = Pick<ApiKey, 'name' | 'permissions' | 'expiresAt'>
/** The key itself is shown this once. */
export type CreatedApiKey = ApiKey & { readonly key: string }
