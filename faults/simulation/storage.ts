import type { Storage } from '@org/agent-messaging-core/storage'
import { err, ResultAsync, type Result } from 'neverthrow'
import type { Faults } from './faults.js'
import { latency, type Weather } from './weather.js'
import type { Owner, World } from './world.js'

type Unavailable = { readonly kind: 'unavailable'; readonly reason: string }
type Answer = Result<unknown, Unavailable>
type Method = (...args: unknown[]) => ResultAsync<unknown, Unavailable>

/** Hears of every call at the moment in which the store has done it, and what the store made of it, whatever the caller hears. */
export type Witness = (method: string, args: readonly unknown[], answer: unknown) => void

type StorageOptions = {
  readonly world: World
  readonly weather: Weather
  readonly faults: Faults
  readonly storage: Storage
  readonly name: string
  readonly owner: Owner
  readonly witness: Witness
}

/**
 * The storage as a process of a distributed system meets it. A call is under way for a while, is done at one moment and answered
 * at a later one, and each of the three may fail to come: the store is away; it says so though it has done it; the process is
 * dead by then, and what it asked for is done all the same.
 */
export function storageOf({
  world,
  weather,
  faults,
  storage,
  name,
  owner,
  witness,
}: StorageOptions): Storage {
  const { dice } = world

  function call(
    method: string,
    args: unknown[],
    act: () => ResultAsync<unknown, Unavailable>,
  ): Promise<Answer> {
    return new Promise((resolve) => {
      const wait = (): number =>
        HOLDING.test(method) ? faults.slow(latency(dice, weather)) : latency(dice, weather)
      const answer = (given: Answer): void => void world.after(wait(), () => resolve(given), owner)
      world.after(wait(), () => {
        if (!owner.isAlive && dice.chance(0.5)) return
        const fails = dice.chance(weather.storeFails)
        if (fails && HOLDING.test(method)) faults.brief(`${method} fails`, 0)
        if (weather.isStoreAway || (fails && dice.chance(0.5)))
          return answer(unavailable('nothing was done'))
        void act().then((done) => {
          if (done.isOk()) {
            witness(method, args, done.value)
            noteCall(method, args, done.value, fails)
          }
          answer(fails ? unavailable('it was done') : done)
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
    if (!READS.test(method) && !isNothing(value))
      world.note(
        `${name} ${method} ${brief(args)} -> ${brief(value)}${isLost ? ' (the answer was an error)' : ''}`,
      )
  }

  const storeOf = <S extends object>(store: string, methods: S): S =>
    Object.fromEntries(
      Object.entries<Method>(methods as Record<string, Method>).map(([method, act]) => [
        method,
        (...args: unknown[]) =>
          new ResultAsync(call(`${store}.${method}`, args, () => act(...args))),
      ]),
    ) as S

  return {
    messages: storeOf('messages', storage.messages),
    deliveries: storeOf('deliveries', storage.deliveries),
    webhooks: storeOf('webhooks', storage.webhooks),
    agents: storeOf('agents', storage.agents),
    credentials: storeOf('credentials', storage.credentials),
    ping: () => storage.ping(),
    close: () => storage.close(),
  }
}

/** Calls on which a claim hangs that somebody has: when others fail, nothing is done twice for it. */
const HOLDING =
  /^(messages\.(accept|claimRunnable|extendLeases|defer|recordRun)|deliveries\.(claimDue|recordAttempt))$/

const unavailable = (reason: string): Answer => err({ kind: 'unavailable', reason })

/** They change nothing, and what they say is in the lines before. */
const READS = /\.(get|list|find|history)/

/** Most polls find nothing: they are as if they had not been. */
const isNothing = (value: unknown): boolean =>
  value === undefined || value === 0 || (Array.isArray(value) && value.length === 0)

const TOLD = [
  'kind',
  'id',
  'messageId',
  'deliveryId',
  'webhookId',
  'sessionId',
  'idempotencyKey',
  'token',
  'message',
  'state',
  'attempt',
]
const TOLD_TOO = [
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
const FIELDS = [...TOLD, ...TOLD_TOO]

/** Who and what, without the rest. */
const brief = (value: unknown): string => JSON.stringify(value, FIELDS) ?? 'nothing'
