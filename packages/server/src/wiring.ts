import {
  createService,
  defaultPolicy,
  functionRuntime,
  type AgentRuntime,
  type MessagingService,
  type Policy,
  type Storage,
  type Telemetry,
} from '@org/agent-messaging-core'
import { nodePlatform, type NodePlatform } from '@org/agent-messaging-core/node'
import { addressGuard, httpRuntime, httpWebhookSender, outboundHttp, type AddressPolicy } from '@org/agent-messaging-outbound'
import { openSqliteStorage, sqlitePacemaker } from '@org/agent-messaging-sqlite'
import { builtInAgents, type Agents } from './agents-file.js'
import { checkMasterKey } from './bootstrap.js'
import { OperatorError } from './operator-error.js'

export type WiringOptions = {
  readonly databasePath: string
  /** 32 bytes; always the same for one database. */
  readonly masterKey: Uint8Array
  /** Handlers of function agents, beside the built-in `echo`. */
  readonly agents?: Agents | undefined
  /** Runtimes beside `function` and `http`; one of the same kind replaces ours. */
  readonly runtimes?: readonly AgentRuntime[] | undefined
  /** Where webhooks and HTTP runtimes may be, beside public addresses over https. */
  readonly addresses?: AddressPolicy | undefined
  readonly policy?: Partial<Policy> | undefined
  readonly telemetry?: Telemetry | undefined
}

/** The adapters and the service over them; nothing runs yet. */
export type Wiring = {
  readonly platform: NodePlatform
  readonly storage: Storage
  readonly service: MessagingService
  close(): Promise<void>
}

/** The one place where adapters meet. `publicUrl` is asked for at each run: the port may not be known before. */
export async function wire(options: WiringOptions, publicUrl: () => string | undefined): Promise<Wiring> {
  const { databasePath: path, telemetry = { record: () => undefined } } = options
  const { headerPrefix, runLeaseMs: leaseMs, limits } = { ...defaultPolicy, ...options.policy }
  const platform = nodePlatform({ masterKey: options.masterKey })
  const storage = openStorage(path)
  const onError = (reason: string): void => telemetry.record({ name: 'worker.failed', worker: 'pacemaker', reason })
  const pacemaker = sqlitePacemaker({ path, leaseMs, onError })
  const http = outboundHttp({ guard: addressGuard(options.addresses ?? {}) })
  async function close(): Promise<void> {
    await http.close()
    await pacemaker.close()
    await storage.close()
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
    sender: httpWebhookSender(http),
    runtimes: [
      functionRuntime({ ...builtInAgents, ...options.agents }, { maxLength: limits.responseLength }),
      httpRuntime({ ...platform, http, publicUrl, headerPrefix }),
      ...(options.runtimes ?? []),
    ],
    ...{ pacemaker, telemetry },
    ...(options.policy && { policy: options.policy }),
  })
  return { platform, storage, service, close }
}

function openStorage(databasePath: string): Storage {
  try {
    return openSqliteStorage({ path: databasePath })
  } catch (error) {
    throw new OperatorError(error instanceof Error ? error.message : String(error))
  }
}
