import type { ResultAsync } from 'neverthrow'
import type { AgentRuntime } from './ports/agent-runtime.js'
import type { AttemptMaker } from './ports/attempt-maker.js'
import type { EventNews } from './ports/event-news.js'
import type { LeaseKeeper } from './ports/lease-keeper.js'
import type { ChunkRelay } from './ports/chunk-relay.js'
import type { Clock, Crypto, Ids, Random } from './ports/platform.js'
import type { ResponseSignal } from './ports/response-signal.js'
import type { Storage } from './ports/storage.js'
import type { Caller, Stored, Unavailable } from './ports/stored.js'
import type { Telemetry } from './ports/telemetry.js'
import type { Tracing } from './ports/tracing.js'
import type { WebhookSender } from './ports/webhook-sender.js'
import type { WorkSignal } from './ports/work-signal.js'
import type { Policy } from './policy.js'

/** A read names its project. */
type OfProject = { readonly projectId?: string | undefined; readonly abort?: Caller | undefined }
export type SharedReads = <Input extends OfProject, T, E>(
  read: (input: Input) => ResultAsync<T, E>,
) => (input: Input) => ResultAsync<T, E | Unavailable>

export type ReadsByCode = <T, E>(read: () => ResultAsync<T, E>) => ResultAsync<T, E | Unavailable>

/** The ports and the policy that the service runs on. */
export type Platform = {
  readonly storage: Storage
  readonly sender: WebhookSender
  readonly attempts: AttemptMaker
  readonly runtimes: ReadonlyMap<string, AgentRuntime>
  readonly signal: ResponseSignal
  readonly workSignal: WorkSignal
  /** Absent if no other process serves streams of this storage. */
  readonly relay?: ChunkRelay
  readonly eventNews: EventNews
  readonly leaseKeeper: LeaseKeeper
  /** `jumping` is pending while the stored times follow a jump of the clock. */
  readonly clock: Clock & { readonly jumping?: Promise<void> | undefined }
  readonly random: Random
  readonly ids: Ids
  readonly crypto: Crypto
  readonly telemetry: Telemetry
  readonly tracing: Tracing
  readonly policy: Policy
  /** Rejects with a `MasterKeyError` if the storage belongs to another master key. */
  readonly checkMasterKey: () => Stored<void>
  /** Makes a read of a project wait for its turn. A wait for an answer takes no turn. */
  readonly shared: SharedReads
  /** Makes a read by a link or a code wait for its turn: a caller without a key can guess many. */
  readonly byCode: ReadsByCode
  /** The address of the service, for one-time links and thin bodies. Absent: events have no links. */
  readonly publicUrl?: () => string | undefined
  /** Aborts when a stop begins. */
  readonly stopping: AbortSignal
  /** Aborts when a stop has used up its time. After that nothing is retried. */
  readonly stopDeadline: AbortSignal
}

/** The ports of a use case that reads. */
export type Reading = Pick<Platform, 'storage'>
/** The ports of a use case that stores a change with its entry in the audit log. */
export type Changing = Pick<Platform, 'storage' | 'clock' | 'ids'>
