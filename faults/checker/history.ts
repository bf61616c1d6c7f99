/**
 * What a run under faults leaves behind. All times are milliseconds on one clock that no fault touches, except those that the service
 * itself stored (`attempts`, `endedAt`). A simulation in virtual time makes the same record as a run of real processes.
 */
export type History = {
  readonly seed: number
  readonly rules: Rules
  readonly requests: readonly ClientRequest[]
  readonly received: readonly ReceivedRequest[]
  readonly runs: readonly AgentRun[]
  readonly faults: readonly Fault[]
  readonly final: FinalState
}

/** The settings that the service ran with. */
export type Rules = {
  /** Waits after the first, second, … failed attempt of a delivery. */
  readonly delaysMs: readonly number[]
  readonly deliveryTimeoutMs: number
  readonly deliveryLeaseMs: number
  readonly runLeaseMs: number
}

/** One try of a client. A send that is tried again is another one, with the same key. */
export type ClientRequest = {
  readonly kind: 'send' | 'read'
  readonly at: number
  readonly agent: string
  /** Of a send. */
  readonly key?: string
  readonly sessionId?: string
  readonly message?: string
  /** Of a read: what it asks for. */
  readonly messageId?: string
  /** Absent when the connection was lost first. */
  readonly answer?: {
    readonly at: number
    readonly status: number
    readonly messageId?: string
    readonly response?: string
  }
}

/** What a receiver got and what it answered. */
export type ReceivedRequest = {
  readonly at: number
  readonly webhookId: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** As the bytes say in UTF-8. */
  readonly body: string
  /** The body of the answer, another one each time: by it an attempt that was recorded is found again. */
  readonly receipt: string
  /** Absent when it answered nothing, or cut the connection. */
  readonly answer?: { readonly at: number; readonly status: number; readonly retryAfterMs?: number }
}

/** One run, as the agent saw it. */
export type AgentRun = {
  readonly messageId: string
  readonly sessionId: string
  readonly agent: string
  readonly attempt: number
  /** How often its message had been put back into the queue by then: its attempts count from 1 again. */
  readonly retries?: number
  readonly startedAt: number
  /** Just before the agent answered. Absent when it did not come to that. */
  readonly endedAt?: number
  /** Another text for each run. Absent when it failed on purpose. */
  readonly response?: string
}

/** `until`: when it could do nothing more, such as when what was broken worked again, or a process was dead; `byMs`: how far a clock was off from then on. */
export type Fault = {
  readonly kind: string
  readonly at: number
  readonly until: number
  readonly byMs?: number
}

/** As the service tells it after the drain. */
export type FinalState = {
  /** Those of a session in the order of its queue. */
  readonly messages: readonly FinalMessage[]
  /** There before the first send and never deleted, but for visitors. */
  readonly webhooks: readonly FinalWebhook[]
  readonly deliveries: readonly FinalDelivery[]
  /** Deliveries that ended before this may be gone. */
  readonly purgedBefore?: number
}

export type FinalMessage = {
  readonly messageId: string
  readonly agent: string
  readonly sessionId: string
  readonly message: string
  readonly key?: string
  readonly state: string
  readonly response?: string
  /** How many runs were begun, since it was put back into the queue if it was. */
  readonly attempt: number
  /** How often it was put back: each time after an end without an answer, which was reported. */
  readonly retries?: number
  readonly endedAt?: number
}

export type FinalWebhook = {
  readonly webhookId: string
  readonly events: readonly string[]
  readonly secret: string
  /** It came or went meanwhile: nobody knows of what exactly it was to be told. */
  readonly isVisitor?: boolean
}

export type FinalDelivery = {
  readonly deliveryId: string
  readonly webhookId: string
  readonly status: string
  readonly body: string
  /** When somebody asked for it to be sent again. */
  readonly redeliveredAt?: readonly number[]
  readonly attempts: readonly FinalAttempt[]
}

export type FinalAttempt = {
  readonly attemptNumber: number
  readonly startedAt: number
  readonly durationMs: number
  readonly outcome: string
  readonly statusCode?: number
  /** The body of the receiver's answer. */
  readonly receipt?: string
}
