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

export type Agent = {
  readonly id: string
  readonly name: string
  readonly runtime: { readonly kind: string } & JsonObject
  readonly defaultExecutionPrincipal: ExecutionPrincipal | { readonly type: 'end_user' }
  readonly desiredState: 'running' | 'stopped'
  readonly state: 'stopped' | 'starting' | 'running' | 'stopping' | 'error'
  readonly lastError?: RunError
  readonly concurrency: number
  readonly maxAttempts: number
  readonly maxQueued: number
  readonly createdAt: string
  readonly updatedAt: string
}
export type NewAgent = Pick<Agent, 'name' | 'runtime'> &
  Partial<Pick<Agent, 'defaultExecutionPrincipal' | 'desiredState' | 'concurrency' | 'maxAttempts' | 'maxQueued'>>
/** `signingSecret`: of a runtime whose requests are signed, shown this once. */
export type CreatedAgent = Agent & { readonly signingSecret?: string }

export type Webhook = {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly agentId?: string
  readonly description?: string
  readonly enabled: boolean
  readonly disabledReason?: string
  readonly createdAt: string
  readonly updatedAt: string
}
export type NewWebhook = Pick<Webhook, 'url' | 'events'> &
  Partial<Pick<Webhook, 'agentId' | 'description' | 'enabled'>> & {
    /** Your own, `whsec_` and base64 of 24 to 64 bytes; made when absent. */
    readonly secret?: string
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
  readonly createdAt: string
}
export type DeliveryAttempt = {
  readonly attemptNumber: number
  readonly startedAt: string
  readonly durationMs: number
  readonly outcome: 'accepted' | 'refused' | 'unreachable'
  readonly statusCode?: number
  readonly responseBody?: string
  readonly error?: string
  readonly detail?: string
}
export type DeliveryDetail = Delivery & { readonly body: string; readonly attempts: readonly DeliveryAttempt[] }
export type DeliveryFilter = {
  readonly webhookId?: string
  readonly event?: string
  readonly status?: DeliveryStatus
  readonly createdAfter?: string
  readonly createdBefore?: string
}
