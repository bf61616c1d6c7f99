import type { Storage, Stored } from '@org/agent-messaging-core/storage'
import { pass } from './points.js'

const MESSAGE_METHODS = ['accept', 'claimRunnable', 'recordRun', 'defer', 'purge']
const DELIVERY_METHODS = ['claimDue', 'recordAttempt', 'purge']

/** The storage, passing `before m` and `after m` around the methods that change what a crash must not lose. */
export const watched = <S extends Storage>(storage: S): S => ({
  ...storage,
  messages: watchedStore(storage.messages, MESSAGE_METHODS),
  deliveries: watchedStore(storage.deliveries, DELIVERY_METHODS),
})

const watchedStore = <Store extends object>(store: Store, methods: readonly string[]): Store =>
  new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function' || typeof name !== 'string' || !methods.includes(name))
        return method
      return (...args: unknown[]) => {
        pass(`before ${name}`)
        return (method.apply(target, args) as Stored<unknown>).map((value) => {
          if (didSomething(value)) pass(`after ${name}`)
          return value
        })
      }
    },
  })

/** A claim that found nothing, or a purge of nothing, is no moment to die at. */
const didSomething = (value: unknown): boolean =>
  value !== 0 && !(Array.isArray(value) && value.length === 0)
