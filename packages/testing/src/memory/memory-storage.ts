import { failure, success } from '@org/agent-messaging-core/runtime'
import { CLOSED, type Storage, type Stored } from '@org/agent-messaging-core/storage'
import { newMemory, type Immediate, type Memory } from './memory.js'
import { MemoryAgents } from './memory-agents.js'
import { MemoryAudit } from './memory-audit.js'
import { MemoryCredentials } from './memory-credentials.js'
import { MemoryDeliveries } from './memory-deliveries.js'
import { MemoryEventTypes } from './memory-event-types.js'
import { MemoryEvents } from './memory-events.js'
import { MemoryMessages } from './memory-messages.js'
import { MemoryPortals } from './memory-portals.js'
import { MemoryRecoveries } from './memory-recoveries.js'
import { moveTimes } from './memory-times.js'
import { MemoryCounts } from './memory-counts.js'
import { MemoryWebhooks } from './memory-webhooks.js'

/**
 * A storage in memory: the reference implementation of the storage ports. The storage serves unit
 * tests. Each method is complete when it returns its promise. Rows are copied in and out. Queries
 * read all rows, so the storage is not made for load.
 */
export type MemoryStorage = Storage & {
  /**
   * Makes the next calls of the method `Unavailable` or slow, on this handle only. Replaces an
   * earlier fault.
   */
  fail(method: StorageMethod, fault?: Fault): void
  /** Opens another handle on the same memory, like a second process, also after `close`. */
  reopen(): MemoryStorage
}

type StoreName =
  | 'messages'
  | 'deliveries'
  | 'recoveries'
  | 'events'
  | 'webhooks'
  | 'agents'
  | 'credentials'
  | 'audit'
  | 'eventTypes'
  | 'portals'
  | 'counts'
export type StorageMethod =
  | { [S in StoreName]: `${S}.${keyof Storage[S] & string}` }[StoreName]
  | 'moveTimes'
  | 'ping'

export type Fault = {
  /** The number of calls that fail. 0 ends the fault. Default: 1. */
  readonly times?: number
  /** Makes the write and loses the answer, like a connection that breaks after the commit. */
  readonly takesEffect?: boolean
  /** The call waits for this and then succeeds, like a database that is silent for a time. */
  readonly slowUntil?: Promise<unknown>
}

/** Runs one call of a store, unless a fault prevents it. */
type Call = <T>(method: string, run: () => T) => Stored<T>

export const memoryStorage = (): MemoryStorage => openHandle(newMemory())

function openHandle(memory: Memory): MemoryStorage {
  const faults = new Map<string, Fault & { readonly times: number }>()
  let isClosed = false

  const call: Call = (method, run) => {
    if (isClosed) return unavailable(CLOSED)
    const fault = faults.get(method)
    if (!fault || fault.times <= 0) return Promise.resolve(success(copyOf(run())))
    faults.set(method, { ...fault, times: fault.times - 1 })
    if (fault.slowUntil) return fault.slowUntil.then(() => success(copyOf(run())))
    if (fault.takesEffect) run()
    return unavailable(`${method} was told to fail`)
  }

  const deliveries = new MemoryDeliveries(memory)
  const messages = new MemoryMessages(memory)
  return {
    messages: asStore('messages', messages, call),
    deliveries: asStore('deliveries', deliveries, call),
    recoveries: asStore('recoveries', new MemoryRecoveries(memory, deliveries, messages), call),
    events: asStore('events', new MemoryEvents(memory), call),
    webhooks: asStore('webhooks', new MemoryWebhooks(memory), call),
    agents: asStore('agents', new MemoryAgents(memory), call),
    credentials: asStore('credentials', new MemoryCredentials(memory), call),
    audit: asStore('audit', new MemoryAudit(memory), call),
    eventTypes: asStore('eventTypes', new MemoryEventTypes(memory), call),
    portals: asStore('portals', new MemoryPortals(memory), call),
    counts: asStore('counts', new MemoryCounts(memory), call),
    get lastMove() {
      return memory.moves?.at(-1)?.number ?? 0
    },
    moveTimes: (jump) => call('moveTimes', () => moveTimes(memory, jump)),
    ping: () => call('ping', () => undefined),
    close: async () => {
      isClosed = true
    },
    fail: (method, { times = 1, ...fault } = {}) => {
      faults.set(method, { times, ...fault })
    },
    reopen: () => openHandle(memory),
  }
}

const unavailable = (reason: string) => Promise.resolve(failure({ kind: 'unavailable', reason }))

type Methods = Record<string, (...args: unknown[]) => unknown>

/** Makes the methods of the class asynchronous. The result is a plain object, like other stores. */
function asStore<N extends StoreName>(
  name: N,
  store: Immediate<Storage[N]>,
  call: Call,
): Storage[N] {
  const methods = store as unknown as Methods
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(store))
  const entries = names
    .filter((method) => method !== 'constructor')
    .map((method) => [
      method,
      (...args: unknown[]) => call(`${name}.${method}`, () => methods[method]?.(...copyOf(args))),
    ])
  return Object.fromEntries(entries) as Storage[N]
}

/**
 * Copies data, so that no caller holds a row of the store. Returns functions, sets and maps as they
 * are.
 */
function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Set || value instanceof Map) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyOf(inner)])) as T
}
