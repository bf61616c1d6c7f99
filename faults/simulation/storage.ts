import { failure } from '@org/agent-messaging-core/runtime'
import type {
  ClaimedDeliveries,
  MoveResult,
  Storage,
  Stored,
} from '@org/agent-messaging-core/storage'
import type { FaultLog } from './fault-log.js'
import { latency, type FailureRates } from './failure-rates.js'
import type { Owner, Timeline } from './timeline.js'

type Answer = Awaited<Stored<unknown>>
type Method = (...args: unknown[]) => Stored<unknown>

/** Observes each call at the time of its effect, with the store's answer. */
export type StoreObserver = (method: string, args: readonly unknown[], answer: unknown) => void

type StorageOptions = {
  readonly timeline: Timeline
  readonly rates: FailureRates
  readonly faults: FaultLog
  readonly storage: Storage
  readonly name: string
  readonly owner: Owner
  readonly observe: StoreObserver
}

/**
 * Returns the storage of one process, with latency and failures. A call takes effect after a
 * latency, and its answer arrives after another one. The store can be away, a call can fail after
 * its effect, and a call can take effect after the death of its process.
 */
export function storageOf({
  timeline,
  rates,
  faults,
  storage,
  name,
  owner,
  observe,
}: StorageOptions): Storage {
  const { dice } = timeline

  function call(method: string, args: unknown[], act: () => Stored<unknown>): Stored<unknown> {
    return new Promise((resolve) => {
      const wait = (): number =>
        HOLDING.test(method) ? faults.slow(latency(dice, rates)) : latency(dice, rates)
      const answer = (given: Answer): void =>
        void timeline.after(wait(), () => resolve(given), owner)
      timeline.after(wait(), () => {
        if (!owner.isAlive && dice.chance(0.5)) return
        const fails = dice.chance(rates.storeFails)
        if (fails && HOLDING.test(method)) faults.record(`${method} fails`, 0)
        if (rates.isStoreAway || (fails && dice.chance(0.5)))
          return answer(unavailable('the call had no effect'))
        void act().then((done) => {
          if (done.ok) {
            observe(method, args, done.value)
            noteCall(method, args, done.value, fails)
          }
          answer(fails ? unavailable('the call took effect') : done)
        })
      })
    })
  }

  function noteCall(
    method: string,
    args: readonly unknown[],
    value: unknown,
    isLost: boolean,
  ): void {
    const found = method === 'deliveries.claimDue' ? (value as ClaimedDeliveries).deliveries : value
    if (!READS.test(method) && !isNothing(found))
      timeline.note(
        `${name} ${method} ${brief(args)} -> ${brief(value)}${isLost ? ' (the answer was an error)' : ''}`,
      )
  }

  const storeOf = <S extends object>(store: string, methods: S): S =>
    Object.fromEntries(
      Object.entries<Method>(methods as Record<string, Method>).map(([method, act]) => [
        method,
        (...args: unknown[]) => call(`${store}.${method}`, args, () => act(...args)),
      ]),
    ) as S

  return {
    messages: storeOf('messages', storage.messages),
    deliveries: storeOf('deliveries', storage.deliveries),
    recoveries: storeOf('recoveries', storage.recoveries),
    events: storeOf('events', storage.events),
    webhooks: storeOf('webhooks', storage.webhooks),
    agents: storeOf('agents', storage.agents),
    credentials: storeOf('credentials', storage.credentials),
    audit: storeOf('audit', storage.audit),
    eventTypes: storeOf('eventTypes', storage.eventTypes),
    portals: storeOf('portals', storage.portals),
    counts: storeOf('counts', storage.counts),
    lastMove: storage.lastMove ?? 0,
    moveTimes: (report) =>
      call('moveTimes', [report], () => storage.moveTimes(report)) as Stored<MoveResult>,
    ping: () => storage.ping(),
    close: () => storage.close(),
  }
}

/** Calls that concern a claim. A failure of another call cannot lead to repeated work. */
const HOLDING =
  /^(messages\.(accept|claimRunnable|extendLeases|defer|recordRun)|deliveries\.(claimDue|recordAttempts)|events\.publish)$/

const unavailable = (reason: string): Answer => failure({ kind: 'unavailable', reason })

/** Calls without an effect. They are not noted. */
const READS = /\.(get|list|find|history)/

/** Returns true for a poll that found nothing. Such polls are not noted. */
const isNothing = (value: unknown): boolean =>
  value === undefined || value === 0 || (Array.isArray(value) && value.length === 0)

const FIELDS = [
  'kind',
  'id',
  'messageId',
  'deliveryId',
  'webhookId',
  'sessionId',
  'idempotencyKey',
  'token',
  'message',
  'events',
  'state',
  'attempt',
  'delivery',
  'lease',
  'until',
  'claimed',
  'claimUntil',
  'outgoing',
  'event',
  'outcome',
  'statusCode',
  'changed',
  'count',
  'status',
]

/** Returns the important fields. */
const brief = (value: unknown): string => JSON.stringify(value, FIELDS) ?? 'nothing'
