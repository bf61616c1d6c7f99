import type { Held, Instant } from '@org/agent-messaging-core/storage'

/**
 * Which leases are held, in memory that two threads share: one writes it at the cost of a few stores, the other reads it whatever the
 * first is doing. A slot counts while its `held` is 1, which is set last and cleared first.
 */
export type SharedLeases = {
  readonly held: Int32Array
  /** 36 characters each. */
  readonly ids: Uint8Array
  readonly tokens: Float64Array
  readonly untils: Float64Array
}

export type LeaseTable = {
  readonly shared: SharedLeases
  /** Does nothing when all slots are taken. */
  add(lease: Held & { readonly until: Instant }): void
  remove(lease: Held): void
}

const ID_LENGTH = 36

export function createLeaseTable(slots: number): LeaseTable {
  const shared: SharedLeases = {
    held: new Int32Array(new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT)),
    ids: new Uint8Array(new SharedArrayBuffer(slots * ID_LENGTH)),
    tokens: new Float64Array(new SharedArrayBuffer(slots * Float64Array.BYTES_PER_ELEMENT)),
    untils: new Float64Array(new SharedArrayBuffer(slots * Float64Array.BYTES_PER_ELEMENT)),
  }
  const ids = Buffer.from(shared.ids.buffer)
  const free = Array.from({ length: slots }, (_, slot) => slot).reverse()
  const taken = new Map<string, number>()

  return {
    shared,
    add({ messageId, token, until }) {
      const slot = free.pop()
      if (slot === undefined) return
      taken.set(keyOf({ messageId, token }), slot)
      ids.write(messageId, slot * ID_LENGTH, ID_LENGTH, 'latin1')
      shared.tokens[slot] = token
      shared.untils[slot] = until
      Atomics.store(shared.held, slot, 1)
    },
    remove(lease) {
      const slot = taken.get(keyOf(lease))
      if (slot === undefined) return
      taken.delete(keyOf(lease))
      Atomics.store(shared.held, slot, 0)
      free.push(slot)
    },
  }
}

const keyOf = ({ messageId, token }: Held): string => `${messageId} ${token}`
