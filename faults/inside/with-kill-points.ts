import { mapped } from '@org/agent-messaging-testing'
import type { Storage, Stored } from '@org/agent-messaging-core/storage'
import { reach } from './points.js'

const MESSAGE_METHODS = ['accept', 'claimRunnable', 'recordRun', 'defer', 'purge']
const DELIVERY_METHODS = ['claimDue', 'recordAttempts', 'purge']
const EVENT_METHODS = ['publish', 'erasePrincipal']

/** Returns a storage whose writes reach `before <method>` and `after <method>`. */
export const withKillPoints = <S extends Storage>(storage: S): S => ({
  ...storage,
  messages: storeWithKillPoints(storage.messages, MESSAGE_METHODS),
  deliveries: storeWithKillPoints(storage.deliveries, DELIVERY_METHODS),
  events: storeWithKillPoints(storage.events, EVENT_METHODS),
})

const storeWithKillPoints = <Store extends object>(
  store: Store,
  methods: readonly string[],
): Store =>
  new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function' || typeof name !== 'string' || !methods.includes(name))
        return method
      return (...args: unknown[]) => {
        reach(`before ${name}`)
        return mapped(method.apply(target, args) as Stored<unknown>, (value) => {
          if (changedRows(value)) reach(`after ${name}`)
          return value
        })
      }
    },
  })

/** Returns false for a claim or a purge that found no rows. */
const changedRows = (value: unknown): boolean =>
  value !== 0 && !(Array.isArray(value) && value.length === 0) && !isNoClaim(value)

/** A claim of deliveries has no kind. */
const isNoClaim = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  !('kind' in value) &&
  'deliveries' in value &&
  Array.isArray(value.deliveries) &&
  value.deliveries.length === 0
