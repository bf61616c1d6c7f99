export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** The principal of the run. */
export type ExecutionPrincipal =
  | { readonly type: 'service' }
  | { readonly type: 'end_user'; readonly endUserId: string }

export type RunUsage = { readonly inputTokens?: number; readonly outputTokens?: number }
export type RunError = { readonly code: string; readonly message: string }

/** The metadata of the message. Two of its keys also appear at the top. */
type Echo = {
  readonly metadata: JsonObject
  readonly channel?: Json
  readonly correlationId?: Json
}

type QuestionData = Echo & {
  readonly messageId: string
  readonly agentId: string
  readonly sessionId: string
  readonly executionPrincipal: ExecutionPrincipal
  readonly input: {
    readonly id: string
    readonly question: string
    readonly options?: readonly string[]
    readonly schema?: JsonObject
    readonly answerBy?: 'execution_principal'
    readonly askedAt: string
    readonly expiresAt: string
  }
  /** A page where a person can answer once. Absent if the service has no public URL. */
  readonly inputUrl?: string
}

/** The `data` of each event. Instants are ISO 8601 in UTC. */
export type EventData = {
  'message.responded': Echo & {
    readonly messageId: string
    readonly agentId: string
    readonly sessionId: string
    readonly response: string
    readonly executionPrincipal: ExecutionPrincipal
    readonly responseTimeMs: number
    /** The tokens of a model, if the runtime reports them. */
    readonly usage?: RunUsage
  }
  'message.failed': Echo & {
    readonly messageId: string
    readonly agentId: string
    readonly sessionId: string
    readonly error: RunError
    readonly executionPrincipal: ExecutionPrincipal
    readonly failedAt: string
  }
  'message.cancelled': Echo & {
    readonly messageId: string
    readonly agentId: string
    readonly sessionId: string
    readonly executionPrincipal: ExecutionPrincipal
    readonly cancelledAt: string
  }
  'message.input_required': QuestionData
  'message.input_reminder': QuestionData
  'message.input_received': QuestionData & {
    readonly answer: {
      readonly value: Json
      /** Absent if the deadline gave the answer. */
      readonly executionPrincipal?: ExecutionPrincipal
      readonly answeredAt: string
    }
  }
  'agent.started': {
    readonly agentId: string
    readonly runtime: string
    readonly startedAt: string
  }
  'agent.stopped': {
    readonly agentId: string
    readonly runtime: string
    readonly stoppedAt: string
  }
  /** The fields of the message are set if a message caused the error. */
  'agent.error': Partial<Echo> & {
    readonly agentId: string
    readonly error: RunError
    readonly messageId?: string
    readonly sessionId?: string
    readonly executionPrincipal?: ExecutionPrincipal
  }
  'webhook.disabled': {
    readonly webhookId: string
    readonly reason: 'failing' | 'gone'
    readonly disabledAt: string
    readonly consecutiveFailures: number
    readonly failingSince: string
  }
  'delivery.exhausted': {
    readonly deliveryId: string
    readonly webhookId: string
    readonly eventId: string
    /** The name of the event that the receiver did not get. */
    readonly event: string
    readonly attemptCount: number
    readonly lastAttempt:
      | { readonly outcome: 'refused'; readonly statusCode: number }
      | { readonly outcome: 'unreachable'; readonly error: string }
    readonly exhaustedAt: string
  }
  'webhook.test': { readonly webhookId: string }
}
export type EventName = keyof EventData

/** The body of a webhook request. */
export type WebhookEvent<Name extends EventName = EventName> = {
  [N in Name]: {
    readonly event: N
    readonly id: string
    readonly createdAt: string
    readonly data: EventData[N]
  }
}[Name]
