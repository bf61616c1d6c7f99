import type { Instant } from '../domain/values/instant.js'
import type { LeaseKeeper } from '../ports/lease-keeper.js'
import type { HeldRun } from '../ports/message-store.js'

/**
 * The leases that the process holds, in memory that two threads share. The main thread writes it
 * with a few stores. The lease keeper's thread reads it at any time. A slot counts while its `held`
 * is 1, which is set last and cleared first.
 */
export type SharedLeases = {
  readonly held: Int32Array
  /** 36 characters each. */
  readonly ids: Uint8Array
  readonly tokens: Float64Array
  readonly untils: Float64Array
}

const ID_LENGTH = 36

export class LeaseTable {
  readonly shared: SharedLeases
  readonly #encoder = new TextEncoder()
  readonly #free: number[]
  /** Taken slots by lease. */
  readonly #taken = new Map<string, number>()

  constructor(slots: number) {
    this.shared = {
      held: new Int32Array(new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT)),
      ids: new Uint8Array(new SharedArrayBuffer(slots * ID_LENGTH)),
      tokens: new Float64Array(new SharedArrayBuffer(slots * Float64Array.BYTES_PER_ELEMENT)),
      untils: new Float64Array(new SharedArrayBuffer(slots * Float64Array.BYTES_PER_ELEMENT)),
    }
    this.#free = Array.from({ length: slots }, (_, slot) => slots - 1 - slot)
  }

  /** Adds a lease. Does nothing when all slots are taken. */
  add(lease: HeldRun & { readonly until: Instant }): void {
    const slot = this.#free.pop()
    if (slot === undefined) return
    this.#taken.set(keyOf(lease), slot)
    const start = slot * ID_LENGTH
    this.#encoder.encodeInto(lease.messageId, this.shared.ids.subarray(start, start + ID_LENGTH))
    this.shared.tokens[slot] = lease.token
    this.shared.untils[slot] = lease.until
    Atomics.store(this.shared.held, slot, 1)
  }

  remove(lease: HeldRun): void {
    const slot = this.#taken.get(keyOf(lease))
    if (slot === undefined) return
    this.#taken.delete(keyOf(lease))
    Atomics.store(this.shared.held, slot, 0)
    this.#free.push(slot)
  }
}

const keyOf = ({ messageId, token }: HeldRun): string => `${messageId} ${token}`

/**
 * Returns a keeper whose thread reads the table. The first lease starts the thread. `start` returns
 * a function that ends the thread. It throws if the platform allows no more threads, and then the
 * next lease tries again.
 */
export function threadKeeper(
  table: LeaseTable,
  start: () => () => Promise<void>,
  onError: (reason: string) => void,
): LeaseKeeper & { close(): Promise<void> } {
  let end: (() => Promise<void>) | undefined
  return {
    hold(lease) {
      table.add(lease)
      try {
        end ??= start()
      } catch (error) {
        onError(String(error))
      }
    },
    release: (lease) => table.remove(lease),
    close: async () => end?.(),
  }
}
