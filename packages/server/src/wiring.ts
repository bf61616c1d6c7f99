import { a2aRuntime } from '@org/agent-messaging-a2a'
import {
  createService,
  defaultPolicy,
  functionRuntime,
  type MessagingService,
  type Policy,
} from '@org/agent-messaging-core'
import { type Storage } from '@org/agent-messaging-core/storage'
import { type AgentRuntime, type Clock, type Telemetry } from '@org/agent-messaging-core/runtime'
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
} from '@org/agent-messaging-outbound'
import { acpRuntime, processRuntime, type ProgramLog } from '@org/agent-messaging-process'
import { builtInAgents, type Agents, type Programs } from './agents-file.js'
import { checkMasterKey } from './bootstrap.js'
import { openDatabase } from './open-database.js'

export type WiringOptions = {
  /** A SQLite file, `:memory:`, or the URL of a PostgreSQL database, which begins with `postgres://`. */
  readonly databasePath: string
  /**
   * The same PostgreSQL database past a pooler of transactions: wake-ups cannot be listened for through one. `databasePath` unless given.
   */
  readonly databaseDirectUrl?: string | undefined
  /** 32 bytes; for one database always the same, or another one beside which that is among `otherMasterKeys`. */
  readonly masterKey: Uint8Array
  /** Keys that open what they have sealed, while one replaces another. */
  readonly otherMasterKeys?: readonly Uint8Array[] | undefined
  /** Handlers of function agents, beside the built-in `echo`. */
  readonly agents?: Agents | undefined
  /** What agents of the kinds `process` and `acp` may be; none unless given. */
  readonly programs?: Programs | undefined
  /** Is told what programs print on stderr, and on stdout beside the protocol; nobody is unless given. */
  readonly programLog?: ProgramLog | undefined
  /** Runtimes beside `function`, `http`, `openai`, `a2a`, `process` and `acp`; one of the same kind replaces ours. */
  readonly runtimes?: readonly AgentRuntime[] | undefined
  /** Where webhooks and HTTP runtimes may be, beside public addresses over https. */
  readonly addresses?: AddressPolicy | undefined
  readonly policy?: Partial<Policy> | undefined
  /**
   * Whether webhooks are signed and sent in a thread of their own, by the machine's clock. `createServer` goes by the processors unless
   * given.
   */
  readonly webhookThread?: boolean | undefined
  readonly telemetry?: Telemetry | undefined
  /** The machine's unless given. Tests drive hours and days by hand with `fakeClock()` of core's `./testing`. */
  readonly clock?: Clock | undefined
}

/** The adapters and the service over them; nothing runs yet. */
export type Wiring = {
  readonly platform: NodePlatform
  readonly storage: Storage
  readonly service: MessagingService
  close(): Promise<void>
}

/** Of one request: a task is begun, and looked at, in many short ones. */
const A2A_LIMITS = { deadlineMs: 30_000 }

/** The one place where adapters meet. `publicUrl` is asked for at each run: the port may not be known before. */
export async function wire(
  options: WiringOptions,
  publicUrl: () => string | undefined,
): Promise<Wiring> {
  const { databasePath, telemetry = { record: () => undefined } } = options
  const policy = { ...defaultPolicy, ...options.policy }
  const { headerPrefix, runLeaseMs: leaseMs, limits } = policy
  const platform = { ...nodePlatform(options), ...(options.clock && { clock: options.clock }) }
  const onError = (worker: string, reason: string): void =>
    telemetry.record({ name: 'worker.failed', worker, reason })
  const onDamage = (reason: string): void => telemetry.record({ name: 'store.unavailable', reason })
  // Before the database: it throws for addresses that are none, and opens nothing.
  const http = outboundHttp({ guard: addressGuard(options.addresses ?? {}) })
  const {
    storage,
    close: closeDatabase,
    ...helpers
  } = await openDatabase(databasePath, {
    directUrl: options.databaseDirectUrl,
    leaseMs,
    onError,
    onDamage,
  })
  const attempts = options.webhookThread
    ? webhookThread({
        masterKey: options.masterKey,
        otherMasterKeys: options.otherMasterKeys,
        policy,
        addresses: options.addresses ?? {},
        onError: (reason) => onError('webhook thread', reason),
      })
    : undefined
  async function close(): Promise<void> {
    await Promise.all([attempts?.close(), http.close()])
    await closeDatabase()
  }

  try {
    await checkMasterKey(storage, platform.crypto)
  } catch (error) {
    await close()
    throw error
  }
  const service = createService({
    ...platform,
    storage,
    sender: httpWebhookSender(http, platform.clock),
    ...(attempts && { attempts }),
    runtimes: [
      functionRuntime(
        { ...builtInAgents, ...options.agents },
        { maxLength: limits.responseLength },
      ),
      httpRuntime({ ...platform, http, publicUrl, headerPrefix }),
      openaiRuntime({ fetch: guardedFetch(http), vet: http.vet, crypto: platform.crypto }),
      a2aRuntime({ fetch: guardedFetch(http, A2A_LIMITS), vet: http.vet, clock: platform.clock }),
      ...programRuntimes(options, platform),
      ...(options.runtimes ?? []),
    ],
    ...{ ...helpers, telemetry, policy },
  })
  return { platform, storage, service, close }
}

function programRuntimes(
  { programs = {}, programLog }: WiringOptions,
  platform: NodePlatform,
): AgentRuntime[] {
  const options = {
    programs,
    environment: process.env,
    clock: platform.clock,
    ...(programLog && { log: programLog }),
  }
  return [processRuntime(options), acpRuntime(options)]
}
