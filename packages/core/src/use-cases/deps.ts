import type { RetryPolicy } from '../domain/delivery.js'
import type { Limits } from '../domain/limits.js'
import type { DispatchPolicy } from '../domain/message.js'
import type { WebhookHealthPolicy } from '../domain/webhook-health.js'
import type { AgentRuntime } from '../ports/agent-runtime.js'
import type { AttemptMaker } from '../ports/attempt-maker.js'
import type { Pacemaker } from '../ports/pacemaker.js'
import type { Clock, Crypto, Ids, Random } from '../ports/platform.js'
import type { ResponseSignal } from '../ports/response-signal.js'
import type { Storage } from '../ports/storage.js'
import type { Telemetry } from '../ports/telemetry.js'
import type { WebhookSender } from '../ports/webhook-sender.js'
import type { WorkSignal } from '../ports/work-signal.js'
import type { AnswerStreams } from '../workers/answer-streams.js'
import type { DeliveryWorker } from '../workers/delivery-worker.js'
import type { Dispatcher } from '../workers/dispatcher.js'
import type { Maintenance } from '../workers/maintenance.js'
import type { Supervisor } from '../workers/supervisor.js'
import type { WaitingRoom } from '../workers/waiting-room.js'

/** What the service is made of, from outside. */
export type Platform = {
  readonly storage: Storage
  readonly sender: WebhookSender
  readonly attempts: AttemptMaker
  readonly runtimes: ReadonlyMap<string, AgentRuntime>
  readonly signal: ResponseSignal
  readonly workSignal: WorkSignal
  readonly pacemaker: Pacemaker
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly crypto: Crypto
  readonly telemetry: Telemetry
  readonly policy: Policy
  /** Aborted when a stop has used up its time: nothing is insisted on any more. */
  readonly over: AbortSignal
}

/** Every use case and worker takes its own `Pick` of this. */
export type Deps = Platform & {
  readonly answerStreams: AnswerStreams
  readonly dispatcher: Dispatcher
  readonly deliveryWorker: DeliveryWorker
  readonly maintenance: Maintenance
  readonly supervisor: Supervisor
  readonly waitingRoom: WaitingRoom
}

/** Numbers and choices of the operator. */
export type Policy = {
  readonly limits: Limits
  /** How long a send waits for its answer when the caller does not say (S§8). */
  readonly syncWaitMs: number
  /** The fallback poll of waiting callers (S§8), and of the workers. */
  readonly pollMs: number
  /** Callers of one project that wait at once; one more is answered without waiting. */
  readonly maxWaitingPerProject: number
  /** A key reused with another request: `reuse` its message (S§4.1 rule 4) or `reject`. */
  readonly onKeyMismatch: 'reuse' | 'reject'
  readonly stream: StreamPolicy
  readonly dispatch: DispatchPolicy
  readonly runLeaseMs: number
  readonly agentHealth: AgentHealthPolicy
  readonly retry: RetryPolicy
  readonly webhookHealth: WebhookHealthPolicy
  readonly deliver: DeliverPolicy
  readonly retention: RetentionPolicy
  readonly disabledBacklog: DisabledBacklogPolicy
  /** Of the three headers of S§6. */
  readonly headerPrefix: string
}

/** What the request of an attempt goes by. */
export type AttemptPolicy = Pick<Policy, 'headerPrefix'> & {
  readonly deliver: Pick<DeliverPolicy, 'deadlineMs'>
}

export type StreamPolicy = {
  /** Of what a run emits, the last so many UTF-16 units are kept for those who come late, and at times twice as many. */
  readonly bufferLength: number
  /** Streams of one project at once; one more is refused. */
  readonly maxPerProject: number
  /** A stream on which nothing happens says so this often. */
  readonly heartbeatMs: number
  /** A stream ends when its reader has not taken the last event for so long. */
  readonly stalledMs: number
}

/** How agents are asked whether they are well. */
export type AgentHealthPolicy = {
  /** This often while they are, and soon again when one was not. */
  readonly intervalMs: number
  readonly recheckMs: number
  /** One that has not said by then is not well. */
  readonly timeoutMs: number
  /** One that was not well so many times in a row is in error. */
  readonly strikes: number
}

/** How long what is final is kept: deliveries with their attempts, and messages. `Infinity`: for ever. */
export type RetentionPolicy = { readonly deliveriesMs: number; readonly messagesMs: number }

/** What may wait for a disabled webhook: `max` due deliveries, each for `maxAgeMs` from when it was due. */
export type DisabledBacklogPolicy = { readonly max: number; readonly maxAgeMs: number }

export type DeliverPolicy = {
  /** One total deadline of an attempt: DNS, connect and body. */
  readonly deadlineMs: number
  /** Longer than the deadline; what a dead process was sending is due again after it. */
  readonly leaseMs: number
  /** Requests at a time. Retries have three quarters of them at most; a project three times as many as it leaves free. */
  readonly maxInFlight: number
  readonly maxInFlightPerWebhook: number
  /** Deliveries claimed ahead of their turn; the same shares hold. */
  readonly prefetch: number
}
