import { a2aRuntime } from '@org/agent-messaging-runtime-a2a'
import {
  createService,
  functionRuntime,
  type AgentFunction,
  type MessagingService,
  type PolicyInput,
} from '@org/agent-messaging-core'
import type { AgentRuntime, Clock, Telemetry, Tracing } from '@org/agent-messaging-core/runtime'
import { policyOf, masterKeyProblem } from '@org/agent-messaging-core/host'
import type { Storage } from '@org/agent-messaging-core/storage'
import { nodePlatform, type NodePlatform } from '@org/agent-messaging-core/node'
import {
  addressGuard,
  guardedFetch,
  httpRuntime,
  httpWebhookSender,
  openaiRuntime,
  outboundHttp,
  webhookThread,
  type AddressPolicy,
} from '@org/agent-messaging-adapter-outbound'
import {
  acpRuntime,
  processRuntime,
  type AcpProgram,
  type ProgramLog,
} from '@org/agent-messaging-runtime-process'
import type { HostPool } from './open-database.js'
import { SetupError, valueOf, valueOrSetupError } from './setup-error.js'

/** Agent functions by handler name. */
export type AgentFunctions = Readonly<Record<string, AgentFunction>>
/** Child processes by program name. `permissions` and `login` are for agents of the kind `acp`. */
export type Programs = Readonly<Record<string, AcpProgram>>

export type WiringOptions = {
  /** A SQLite file, `:memory:`, a `postgres://` URL, or a pool of PostgreSQL. */
  readonly databasePath: string | HostPool
  /**
   * URL of the same PostgreSQL database that bypasses a transaction pooler.
   * Wake-ups need it, because a pooler does not support LISTEN. Default: `databasePath`.
   */
  readonly databaseDirectUrl?: string | undefined
  /** Connections to PostgreSQL, besides one for wake-ups and one for leases. Default: 10. */
  readonly databaseConnections?: number | undefined
  /** 32 bytes. Must match the database, unless one of `otherMasterKeys` does. */
  readonly masterKey: Uint8Array
  /** Old master keys that can still decrypt, until `reseal` is done. */
  readonly otherMasterKeys?: readonly Uint8Array[] | undefined
  /** Handlers of function agents. */
  readonly agents?: AgentFunctions | undefined
  /** Programs that agents of the kinds `process` and `acp` can run. Default: none. */
  readonly programs?: Programs | undefined
  /** Variables that programs inherit, such as `process.env`. Default: none. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  /** Receives the stderr of programs, and their stdout lines outside of the protocol. */
  readonly programLog?: ProgramLog | undefined
  /** Additional runtimes. One with the kind of a built-in runtime replaces it. */
  readonly runtimes?: readonly AgentRuntime[] | undefined
  /** Addresses that webhooks and remote agents can use, in addition to public ones over https. */
  readonly addresses?: AddressPolicy | undefined
  /** A forward proxy for webhooks and remote agents, such as `http://proxy.internal:3128`. */
  readonly proxy?: string | undefined
  readonly policy?: PolicyInput | undefined
  /** Signs and sends webhooks in a separate thread, which cannot follow a fake clock. */
  readonly webhookThread?: boolean | undefined
  /** Default: writes failures to stderr. `{ record() {} }` silences them. */
  readonly telemetry?: Telemetry | undefined
  /** Makes spans of the work. Default: none. */
  readonly tracing?: Tracing | undefined
  /**
   * Default: the database's clock on PostgreSQL, else the system's. Tests can pass `fakeClock()`
   * from core's `./testing`.
   */
  readonly clock?: Clock | undefined
}

/** The service and its adapters, not started yet. */
export type Wiring = {
  readonly platform: NodePlatform
  readonly storage: Storage
  readonly service: MessagingService
  close(): Promise<void>
}

/** Limits of one A2A request. A task consists of many short requests. */
const A2A_LIMITS = { deadlineMs: 30_000 }

/**
 * Opens the database and connects all adapters to the service.
 * Each run calls `publicUrl`, because the port is unknown until the server listens.
 */
export async function wire(
  options: WiringOptions,
  publicUrl: () => string | undefined,
): Promise<Wiring> {
  const { databasePath } = options
  // Throws for mistakes of the host, so it comes before the database is opened.
  const policy = settingsOf(() => policyOf(options.policy))
  const { headerPrefix, runLeaseMs: leaseMs, limits } = policy
  const ownPlatform = nodePlatform(options)
  const { telemetry = ownPlatform.telemetry } = options
  const onError = (worker: string, reason: string) =>
    telemetry.record({ name: 'worker.failed', worker, reason })
  const onDamage = (reason: string) => telemetry.record({ name: 'store.unavailable', reason })
  const guard = settingsOf(() => addressGuard(options.addresses ?? {}))
  const outbound = options.proxy === undefined ? {} : { proxy: options.proxy }
  const http = outboundHttp({ ...outbound, guard })
  const { openDatabase } = await import('./open-database.js')
  const {
    storage,
    clock: sharedClock = ownPlatform.clock,
    close: closeDatabase,
    ...helpers
  } = await openDatabase(databasePath, {
    directUrl: options.databaseDirectUrl,
    maxConnections: options.databaseConnections,
    leaseMs,
    onError,
    onDamage,
    onSkew: (byMs) => telemetry.record({ name: 'clock.corrected', byMs }),
    clock: ownPlatform.clock,
  })
  const platform = { ...ownPlatform, clock: options.clock ?? sharedClock }
  const attempts = options.webhookThread
    ? webhookThread({
        masterKey: options.masterKey,
        otherMasterKeys: options.otherMasterKeys,
        policy,
        addresses: options.addresses ?? {},
        outbound,
        clock: platform.clock,
        onError: (reason) => onError('webhook thread', reason),
      })
    : undefined
  async function close() {
    await Promise.all([attempts?.close(), http.close()])
    await closeDatabase()
  }

  try {
    const checked = masterKeyProblem(storage, platform.crypto)
    const problem = await valueOrSetupError(valueOf(checked), 'cannot use the database')
    if (problem !== undefined) throw new SetupError(problem, 2)
  } catch (error) {
    await close()
    throw error
  }
  const { takenOver } = storage
  if (takenOver && Object.values(takenOver).some((count) => count > 0))
    telemetry.record({ name: 'work.taken_over', ...takenOver })
  const service = createService({
    ...platform,
    storage,
    sender: httpWebhookSender(http, platform.clock),
    ...(attempts && { attempts }),
    runtimes: [
      functionRuntime(options.agents ?? {}, { maxLength: limits.responseLength }),
      httpRuntime({ ...platform, http, publicUrl, headerPrefix }),
      openaiRuntime({ fetch: guardedFetch(http), vet: http.vet, crypto: platform.crypto }),
      a2aRuntime({ ...platform, fetch: guardedFetch(http, A2A_LIMITS), vet: http.vet, telemetry }),
      ...programRuntimes(options, platform),
      ...(options.runtimes ?? []),
    ],
    ...helpers,
    publicUrl,
    telemetry,
    ...(options.tracing && { tracing: options.tracing }),
    policy,
  })
  return { platform, storage, service, close }
}

/** Runs a check of the host's settings. */
export function settingsOf<T>(check: () => T) {
  try {
    return check()
  } catch (error) {
    throw error instanceof TypeError || error instanceof RangeError
      ? new SetupError(error.message, 2)
      : error
  }
}

function programRuntimes(
  { programs = {}, programLog, environment = {} }: WiringOptions,
  platform: NodePlatform,
) {
  const options = {
    programs,
    environment,
    clock: platform.clock,
    ...(programLog && { log: programLog }),
  }
  return [processRuntime(options), acpRuntime(options)]
}
