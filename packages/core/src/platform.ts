import type { Actor } from './domain/audit.js'
import type { AgentRuntime } from './ports/agent-runtime.js'
import type { AttemptMaker } from './ports/attempt-maker.js'
import type { EventNews } from './ports/event-news.js'
import type { LeaseKeeper } from './ports/lease-keeper.js'
import type { Clock, Crypto, Ids, Random } from './ports/platform.js'
import type { ResponseSignal } from './ports/response-signal.js'
import type { Storage } from './ports/storage.js'
import type { Telemetry } from './ports/telemetry.js'
import type { WebhookSender } from './ports/webhook-sender.js'
import type { WorkSignal } from './ports/work-signal.js'
import type { Policy } from './policy.js'

/** The ports and the policy that the service runs on. */
export type Platform = {
  readonly storage: Storage
  readonly sender: WebhookSender
  readonly attempts: AttemptMaker
  readonly runtimes: ReadonlyMap<string, AgentRuntime>
  readonly signal: ResponseSignal
  readonly workSignal: WorkSignal
  readonly eventNews: EventNews
  readonly leaseKeeper: LeaseKeeper
  /** `jumping` is pending while the stored times follow a jump of the clock. */
  readonly clock: Clock & { readonly jumping?: Promise<void> | undefined }
  readonly random: Random
  readonly ids: Ids
  readonly crypto: Crypto
  readonly telemetry: Telemetry
  readonly policy: Policy
  /** The actor that the audit log names. `host` if absent. */
  readonly actor?: Actor
  /** Aborts when a stop begins. */
  readonly stopping: AbortSignal
  /** Aborts when a stop has used up its time. After that nothing is retried. */
  readonly stopDeadline: AbortSignal
}
