import { ok, type Result } from 'neverthrow'
import { expect, it } from 'vitest'
import type { Unavailable } from '../ports/stored.js'
import { fakeClock } from '@org/agent-messaging-testing'
import { TurnQueue, type TurnLimits } from './turn-queue.js'

const REFUSED = { kind: 'unavailable', reason: 'overload' }

/** A queue whose work, named by its group, ends when the test says so. */
function scene(limits: Partial<TurnLimits> = {}) {
  const clock = fakeClock()
  const queue = new TurnQueue(clock, {
    ...{ places: 1, maxWaiting: 100, maxWaitMs: 1_000 },
    ...limits,
  })
  const started: string[] = []
  const ends: (() => void)[] = []
  const refused = new Map<string, Unavailable>()
  const open = (group: string, name = group, bytes = 0, caller = { aborted: false }) => {
    const work = (): Promise<Result<void, never>> => {
      started.push(name)
      return new Promise((resolve) => ends.push(() => resolve(ok(undefined))))
    }
    void queue.run({ group, caller, bytes: () => bytes }, work).then((result) => {
      if (result.isErr()) refused.set(name, result.error)
    })
  }
  const endOne = async () => {
    ends.shift()?.()
    await clock.advance(0)
  }
  const endAll = async () => {
    while (ends.length > 0) await endOne()
  }
  return { clock, queue, started, refused, open, endOne, endAll }
}

it('starts work at once while a place is free', () => {
  const { started, open } = scene({ places: 2 })
  for (const name of ['a', 'b', 'c']) open(name)
  expect(started).toEqual(['a', 'b'])
})

it('gives places to groups in turn, and within a group in order', async () => {
  const { started, open, endAll } = scene()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) open(name.charAt(0), name)
  await endAll()
  expect(started.join(' ')).toBe('a1 a2 b1 c1 a3 b2 a4')
})

it('leaves places of a group free for others', async () => {
  const { started, open, endOne } = scene({ places: 10, placesPerGroup: 2 })
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) open(name.charAt(0), name)
  expect(started.join(' ')).toBe('a1 a2 b1')
  await endOne()
  expect(started.join(' ')).toBe('a1 a2 b1 a3')
})

it('refuses the newest work of the group that has most', async () => {
  const { started, refused, open, endAll } = scene({ maxWaiting: 3 })
  for (const name of ['a0', 'a1', 'a2', 'a3', 'b1', 'b2', 'b3']) open(name.charAt(0), name)
  await endAll()
  expect([...refused.keys()]).toEqual(['a3', 'b2', 'b3'])
  expect(started.join(' ')).toBe('a0 a1 b1 a2')
})

it('refuses work of the group that has most bytes', async () => {
  const { started, refused, open, endAll } = scene({ maxBytes: 100 })
  open('a', 'running')
  open('a', 'a1', 60)
  open('b', 'b1', 10)
  open('b', 'b2', 10)
  open('a', 'a2', 30)
  await endAll()
  expect([...refused.keys()]).toEqual(['a2'])
  expect(started.join(' ')).toBe('running a1 b1 b2')
})

it('refuses work that waited too long, and keeps no timer afterwards', async () => {
  const { clock, refused, open, endAll, started } = scene()
  open('a', 'a1')
  open('a', 'late')
  await clock.advance(500)
  open('b', 'b1')
  await clock.advance(499)
  expect(refused.size).toBe(0)
  await clock.advance(1)
  expect(refused.get('late')).toMatchObject(REFUSED)
  await endAll()
  expect(started.join(' ')).toBe('a1 b1')
  expect(clock.sleepers).toBe(0)
})

it('does not start the work of a caller that has left', async () => {
  const { started, open, endAll } = scene()
  const caller = { aborted: false }
  open('a', 'a1')
  open('a', 'left', 0, caller)
  open('a', 'a2')
  caller.aborted = true
  await endAll()
  expect(started.join(' ')).toBe('a1 a2')
})

it('says when to try again, by the rate at which work ends', async () => {
  const { clock, refused, open, endOne } = scene({ maxWaiting: 20, maxWaitMs: 60_000 })
  for (let n = 0; n < 21; n++) open('a')
  for (let n = 0; n < 10; n++) {
    await clock.advance(100)
    await endOne()
  }
  for (let n = 0; n < 10; n++) open('b')
  open('a', 'refused a')
  await clock.advance(0)
  expect(refused.get('refused a')).toEqual({ ...REFUSED, retryInMs: expect.any(Number) })
  // Ten of `a` wait before it, and each second one that ends is of `b`.
  expect(refused.get('refused a')?.retryInMs).toBeGreaterThanOrEqual(1_800)
  expect(refused.get('refused a')?.retryInMs).toBeLessThanOrEqual(2_600)
})

it('lets the event loop turn after a time of work', async () => {
  const { clock, started, open, endOne } = scene({ turnMs: 4, places: 8 })
  open('a', 'a1')
  await clock.advance(5)
  await endOne()
  open('a', 'a2')
  expect(started).toEqual(['a1'])
  await clock.advance(0)
  expect(started).toEqual(['a1', 'a2'])
})

it('answers the caller of work that runs too long, which keeps its place', async () => {
  const { clock, queue } = scene({ maxRunMs: 100 })
  let end = (): void => undefined
  const slow = new Promise<void>((resolve) => (end = resolve))
  const seen: unknown[] = []
  const see = (result: Result<unknown, unknown>) =>
    void seen.push(result.isOk() ? result.value : result.error)
  const work = async () => (await slow, ok('slow'))
  void queue.run({ group: 'a' }, work, see).then(see)
  await clock.advance(60)
  void queue.run({ group: 'a' }, async () => ok('next'), see).then(see)
  await clock.advance(39)
  expect(seen).toEqual([])
  await clock.advance(1)
  expect(seen).toEqual([{ kind: 'unavailable', reason: 'unconfirmed' }])
  end()
  await clock.advance(200)
  expect(seen.slice(1)).toEqual(expect.arrayContaining(['slow', 'next']))
  expect(seen).toHaveLength(3)
  expect(clock.sleepers).toBe(0)
})

it('frees the place of work that fails', async () => {
  const { queue, started, open } = scene()
  await expect(queue.run({ group: 'a' }, () => Promise.reject(new Error('x')))).rejects.toThrow('x')
  open('a')
  expect(started).toEqual(['a'])
})
