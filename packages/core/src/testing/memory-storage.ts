import { errAsync, okAsync } from 'neverthrow'
import type { Storage } from '../ports/storage.js'
import type { Stored } from '../ports/stored.js'
import { newMemory, type Immediate, type Memory } from './memory.js'
import { memoryAgents } from './memory-agents.js'
import { memoryCredentials } from './memory-credentials.js'
import { memoryDeliveries } from './memory-deliveries.js'
import { memoryMessages } from './memory-messages.js'
import { memoryWebhooks } from './memory-webhooks.js'

/**
 * A storage that keeps everything in memory: the reference for what the ports promise, and what unit tests run on.
 * Every method happens whole at the call, before it returns its promise; rows go in and out as copies. It looks at every
 * row to find one, so it is made for tests and not for load.
 */
export type MemoryStorage = Storage & {
  /** Makes the method's next calls `Unavailable`, through this handle only. A later call for the same method replaces it. */
  fail(method: StorageMethod, fault?: Fault): void
  /** Another handle on the same memory, open even when this one is closed: a second process, or the next start. */
  reopen(): MemoryStorage
}

type StoreName = 'messages' | 'deliveries' | 'webhooks' | 'agents' | 'credentials'
export type StorageMethod =
  | { [S in StoreName]: `${S}.${keyof Storage[S] & string}` }[StoreName]
  | 'ping'

export type Fault = {
  /** Calls that fail; 1 when absent, 0 heals. */
  readonly times?: number
  /** The write is made all the same and only its answer is lost, as when a connection breaks after the commit. */
  readonly takesEffect?: boolean
}

/** Does one call of a store: whether it happens, and what the caller hears. */
type Call = <T>(method: string, act: () => T) => Stored<T>

export const memoryStorage = (): MemoryStorage => openHandle(newMemory())

function openHandle(memory: Memory): MemoryStorage {
  const faults = new Map<string, Required<Fault>>()
  let isClosed = false

  const call: Call = (method, act) => {
    if (isClosed) return unavailable('the storage is closed')
    const fault = faults.get(method)
    if (!fault || fault.times <= 0) return okAsync(copyOf(act()))
    faults.set(method, { ...fault, times: fault.times - 1 })
    if (fault.takesEffect) act()
    return unavailable(`${method} was told to fail`)
  }

  return {
    messages: asStore('messages', memoryMessages(memory), call),
    deliveries: asStore('deliveries', memoryDeliveries(memory), call),
    webhooks: asStore('webhooks', memoryWebhooks(memory), call),
    agents: asStore('agents', memoryAgents(memory), call),
    credentials: asStore('credentials', memoryCredentials(memory), call),
    ping: () => call('ping', () => undefined),
    close: async () => {
      isClosed = true
    },
    fail: (method, { times = 1, takesEffect = false } = {}) => {
      faults.set(method, { times, takesEffect })
    },
    reopen: () => openHandle(memory),
  }
}

const unavailable = (reason: string) => errAsync({ kind: 'unavailable', reason } as const)

function asStore<S extends object>(store: StoreName, methods: Immediate<S>, call: Call): S {
  const entries = Object.entries<(...args: unknown[]) => unknown>(methods).map(([name, act]) => [
    name,
    (...args: unknown[]) => call(`${store}.${name}`, () => act(...copyOf(args))),
  ])
  return Object.fromEntries(entries) as S
}

/** Data is copied, so that nobody holds a row of the store; a function or a Set is handed on as it is. */
function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (typeof value !== 'object' || value === null || value instanceof Set) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)])) as T
}
