import type {
  AttemptRecord,
  ClaimDue,
  ClaimedDelivery,
  DeliveryStore,
  JumpReport,
  MoveResult,
  RecordedAttempt,
  Storage,
  Stored,
} from '@org/agent-messaging-core/storage'

import { unwrap } from '../unwrap.js'

/**
 * A store whose methods return the value and throw at `Unavailable`, which no test here expects.
 */
export type Unwrapped<S> = {
  readonly [M in keyof S]: S[M] extends (...args: infer A) => Stored<infer T>
    ? (...args: A) => Promise<T>
    : never
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
export type UnwrappedStorage = { readonly [N in StoreName]: Unwrapped<Storage[N]> } & {
  readonly deliveries: {
    recordAttempt(record: AttemptRecord): Promise<RecordedAttempt>
    /** The deliveries that `claimDue` claims. */
    claim(query: ClaimDue): Promise<ClaimedDelivery[]>
  }
  moveTimes(report: JumpReport): Promise<MoveResult>
}

export const unwrapped = (storage: Storage): UnwrappedStorage => ({
  messages: unwrappedStore(storage.messages),
  deliveries: unwrappedDeliveries(storage.deliveries),
  recoveries: unwrappedStore(storage.recoveries),
  events: unwrappedStore(storage.events),
  webhooks: unwrappedStore(storage.webhooks),
  agents: unwrappedStore(storage.agents),
  credentials: unwrappedStore(storage.credentials),
  audit: unwrappedStore(storage.audit),
  eventTypes: unwrappedStore(storage.eventTypes),
  portals: unwrappedStore(storage.portals),
  counts: unwrappedStore(storage.counts),
  moveTimes: async (report) => unwrap(await storage.moveTimes(report)),
})

/** Has methods for one attempt and for the claimed deliveries, too. */
const unwrappedDeliveries = (store: DeliveryStore): UnwrappedStorage['deliveries'] => {
  const all = unwrappedStore(store)
  const own = {
    recordAttempt: async (record: AttemptRecord) => (await all.recordAttempts([record]))[0],
    claim: async (query: ClaimDue) => (await all.claimDue(query)).deliveries,
  }
  return new Proxy(all, {
    get: (target, name) => Reflect.get(name in own ? own : target, name),
  }) as UnwrappedStorage['deliveries']
}

/** A proxy, for the methods of a class are not its own properties. */
const unwrappedStore = <S extends object>(store: S): Unwrapped<S> =>
  new Proxy(store, {
    get:
      (target, method) =>
      async (...args: unknown[]) => {
        const call = Reflect.get(target, method) as (...args: unknown[]) => Stored<unknown>
        const result = await call.apply(target, args)
        if (!result.ok) throw new Error(`${String(method)} is unavailable: ${result.error.reason}`)
        return result.value
      },
  }) as Unwrapped<S>
