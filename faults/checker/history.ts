/**
 * The record of a run under faults. All times are milliseconds of one clock without faults, except
 * the times that the service stored (`attempts`, `endedAt`). A simulation makes the same record.
 */
export type History = {
  readonly seed: number
  readonly rules: Rules
  readonly requests: readonly ClientRequest[]
  /** Absent if nothing was published, with the next one. */
  readonly published?: readonly PublishRequest[]
  readonly erasures?: readonly Erasure[]
  readonly replays?: readonly Replay[]
  readonly received: readonly ReceivedRequest[]
  readonly runs: readonly AgentRun[]
  readonly faults: readonly Fault[]
  readonly final: FinalState
  /** Absent if the counts were not read. */
  readonly counted?: Counted
}

/** The counts that the service keeps, and the facts that the service must have counted. */
export type Counted = {
  readonly facts: readonly Fact[]
  /** The counts of each step of time, for each length of steps. */
  readonly rows: readonly CountRow[]
}

/** An event of the project, an agent or a webhook. `at` is the time of day. */
export type Fact = {
  readonly subject: 'project' | 'agent' | 'webhook'
  readonly id: string
  readonly at: number
  readonly counts: Counts
}

export type Counts = { readonly [name: string]: number | undefined }

export type CountRow = {
  readonly subject: 'project' | 'agent' | 'webhook'
  readonly id: string
  readonly stepMs: number
  readonly at: number
  readonly counts: Counts
}

/** The settings of the service. */
export type Rules = {
  /** Waits after the first, second, … failed attempt of a delivery. */
  readonly delaysMs: readonly number[]
  readonly deliveryTimeoutMs: number
  readonly deliveryLeaseMs: number
  readonly runLeaseMs: number
}

/** One request of a client. A repeated send is another request with the same key. */
export type ClientRequest = {
  readonly kind: 'send' | 'read'
  readonly at: number
  readonly agent: string
  /** Present for a send, with the next two. */
  readonly key?: string
  readonly sessionId?: string
  readonly message?: string
  /** Present for a read. */
  readonly messageId?: string
  /** Absent if the connection was lost. */
  readonly answer?: {
    readonly at: number
    readonly status: number
    readonly messageId?: string
    readonly response?: string
  }
}

/** One request to publish events. A repeated request has the same events. */
export type PublishRequest = {
  readonly at: number
  readonly events: readonly AskedEvent[]
  /** Absent if the connection was lost. */
  readonly answer?: { readonly at: number; readonly status: number; readonly replayed: boolean }
}

export type AskedEvent = {
  readonly type: string
  /** In `data`. Unique for each content. */
  readonly text: string
  /** In `data`, for filters. */
  readonly kind?: string
  readonly id?: string
  readonly endUserId?: string
  readonly agentId?: string
  readonly sessionId?: string
}

/** An erasure of a person, whose events all have an id. */
export type Erasure = {
  readonly at: number
  readonly endUserId: string
  /** True if the service answered that nothing is left. */
  readonly isDone: boolean
}

/** A request to send stored events to webhooks again. */
export type Replay = {
  readonly at: number
  readonly webhookIds: readonly string[]
  readonly types: readonly string[]
  /** Times of day. */
  readonly createdAfter: number
  readonly createdBefore: number
  /** True if the service says that it has made all deliveries. False if the answer was lost. */
  readonly isDone: boolean
}

/** A request to a receiver, with its answer. */
export type ReceivedRequest = {
  readonly at: number
  readonly webhookId: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Decoded from UTF-8. */
  readonly body: string
  /** The unique body of the answer. Links the request to its recorded attempt. */
  readonly receipt: string
  /** Absent if the receiver did not answer. */
  readonly answer?: { readonly at: number; readonly status: number; readonly retryAfterMs?: number }
}

/** A run from the agent's point of view. */
export type AgentRun = {
  readonly messageId: string
  readonly sessionId: string
  readonly agent: string
  readonly attempt: number
  /** Retries of its message before this run. Each retry counts attempts from 1 again. */
  readonly retries?: number
  readonly startedAt: number
  /** The time just before the agent answered. Absent if the agent did not answer. */
  readonly endedAt?: number
  /** A unique text. Absent if the run failed on purpose. */
  readonly response?: string
}

export type Fault = {
  readonly kind: string
  readonly at: number
  /** The end of the fault, such as the time of the repair or of a process's death. */
  readonly until: number
  /** The difference of a clock after a jump. */
  readonly byMs?: number
}

/** The state that the API returns after the drain. */
export type FinalState = {
  /** The messages of a session are in the order of its queue. */
  readonly messages: readonly FinalMessage[]
  /** Except temporary webhooks, all exist before the first send and until the end. */
  readonly webhooks: readonly FinalWebhook[]
  readonly deliveries: readonly FinalDelivery[]
  /** The published events of the log, in its order. */
  readonly events?: readonly FinalEvent[]
  /** Deliveries that ended before this time can be purged. */
  readonly purgedBefore?: number
}

export type FinalEvent = Omit<AskedEvent, 'endUserId'> & {
  readonly id: string
  /** Time of day. */
  readonly createdAt: number
}

export type FinalMessage = {
  readonly messageId: string
  readonly agent: string
  readonly sessionId: string
  readonly message: string
  readonly key?: string
  readonly state: string
  readonly response?: string
  readonly errorCode?: string
  /** Number of runs since the last retry. */
  readonly attempt: number
  /** Number of retries. Each one follows an end without an answer, which was reported. */
  readonly retries?: number
  readonly endedAt?: number
}

export type FinalWebhook = {
  readonly webhookId: string
  readonly events: readonly string[]
  readonly secret: string
  /** Of the published events, the webhook gets those of this kind. */
  readonly kind?: string
  /** True if the webhook was created or deleted during the run, so that its events are unknown. */
  readonly isTemporary?: boolean
  /** True if the webhook was ordered by session from its creation. */
  readonly isOrdered?: boolean
}

export type FinalDelivery = {
  readonly deliveryId: string
  readonly webhookId: string
  readonly status: string
  readonly body: string
  /** Grows with each commit of an event. Absent if unknown. */
  readonly place?: number
  /** Times of redelivery requests. */
  readonly redeliveredAt?: readonly number[]
  /** True if a replay made it. */
  readonly isReplayed?: boolean
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
