import { success } from '@org/agent-messaging-core/runtime'
import { expect, it } from 'vitest'
import { localSignal } from '../messages/local-signal.js'
import { defaultPolicy } from '../policy.js'
import { aWebhook, BUILT_AT, fakePlatform, memoryWorkSignal } from '@org/agent-messaging-testing'
import type { AttemptMaker } from '../ports/attempt-maker.js'
import { eventNews } from '../pacing/event-news.js'
import type { WorkPhase } from '../pacing/work-loop.js'
import { Attempts } from './attempts.js'
import { RecentAttempts } from './recent-attempts.js'

const SLOTS = 1

/** At most two attempts have no record. `start` ends the start of the maker. */
function attemptsOf({
  isStarting = false,
  phase = 'running',
}: { isStarting?: boolean; phase?: WorkPhase } = {}) {
  const maker = Promise.withResolvers<void>()
  let isReady = !isStarting
  const canWait: unknown[] = []
  const make: AttemptMaker['make'] = (_, resultCanWait) => {
    canWait.push(resultCanWait)
    return new Promise(() => undefined)
  }
  const starting = () => (isReady ? undefined : maker.promise)
  const workSignal = memoryWorkSignal()
  const deliver = { ...defaultPolicy.deliver, maxInFlight: SLOTS }
  const attempts = new Attempts(
    {
      ...fakePlatform(),
      workSignal,
      eventNews: eventNews(workSignal),
      signal: localSignal(),
      leaseKeeper: { hold: () => undefined, release: () => undefined },
      runtimes: new Map(),
      checkMasterKey: () => Promise.resolve(success(undefined)),
      shared: (read) => read,
      byCode: (read) => read(),
      stopping: new AbortController().signal,
      attempts: { starting, make },
      policy: { ...defaultPolicy, deliver },
      stopDeadline: new AbortController().signal,
    },
    () => phase,
  )
  let isIdle = false
  const start = () => {
    isReady = true
    maker.resolve()
  }
  return {
    attempts,
    canWait,
    start,
    watch: () => void attempts.idle().then(() => (isIdle = true)),
    state: async () => {
      await Promise.resolve()
      await Promise.resolve()
      return { canBegin: attempts.canBegin(() => undefined), isIdle }
    },
  }
}

const begin = (attempts: Attempts) => attempts.begin()
const end = (attempts: Attempts) => attempts.end()

it.each<[string, { canBegin: boolean; isIdle: boolean }, ((attempts: Attempts) => void)[]]>([
  ['none began', { canBegin: true, isIdle: true }, []],
  ['one began', { canBegin: true, isIdle: false }, [begin]],
  ['two for each slot began', { canBegin: false, isIdle: false }, [begin, begin]],
  ['one of them ended', { canBegin: true, isIdle: false }, [begin, begin, end]],
  ['all ended', { canBegin: true, isIdle: true }, [begin, begin, end, end]],
])('after %s: %j', async (_, expected, steps) => {
  const { attempts, watch, state } = attemptsOf()
  attempts.begin()
  watch()
  for (const step of steps) step(attempts)
  attempts.end()
  expect(await state()).toEqual(expected)
})

it('no attempt begins while the maker starts, and the sender is told once when it has', async () => {
  const { attempts, start } = attemptsOf({ isStarting: true })
  let told = 0
  const tell = () => void told++
  expect([attempts.canBegin(tell), attempts.canBegin(tell)]).toEqual([false, false])
  start()
  await Promise.resolve()
  await Promise.resolve()
  expect([told, attempts.canBegin(tell)]).toEqual([1, true])
})

const open = { kind: 'open', until: BUILT_AT, trips: 1 } as const

it.each<
  [string, boolean, { spare?: boolean; orderKey?: string; isOpen?: true; phase?: WorkPhase }]
>([
  ['nothing waits for it', true, {}],
  ['slots are short', false, { spare: false }],
  ['the next delivery of the session follows it', false, { orderKey: 'key' }],
  ['it probes an open circuit', false, { isOpen: true }],
  ['a pass made the attempt', false, { phase: 'stopped' }],
  ['the service stops', false, { phase: 'draining' }],
])('if %s, a result can wait: %j', (_, expected, { spare = true, orderKey, isOpen, phase }) => {
  const { attempts, canWait } = attemptsOf({ ...(phase && { phase }) })
  const webhook = aWebhook({})
  const health = isOpen ? { consecutiveFailures: 5, circuit: open } : webhook.health
  const delivery = {
    id: 'delivery',
    projectId: webhook.projectId,
    webhookId: webhook.id,
    eventId: 'event',
    event: 'message.responded',
    attemptCount: 0,
    createdAt: BUILT_AT,
    state: { kind: 'sending', leaseUntil: Infinity, step: 0 },
    ...(orderKey !== undefined && { orderKey }),
  } as const
  const lease = { token: 1, until: Infinity }
  const claimed = { delivery, webhook: { ...webhook, health }, lease, body: '{}' }
  void attempts.make(claimed, new RecentAttempts(), spare)
  expect(canWait).toEqual([expected])
})
