import { afterEach, expect, it, vi } from 'vitest'
import { coded, committing, heldFlush, turns } from '../../test/committing.js'
import { BatchSlots } from './batch-slots.js'
import type { BatcherOptions } from './batcher.js'

// Other writes when one write of a batch fails, waits for a lock or gets stuck.

const LOCKED = '55P03'
const keyOf = (input: string) => input
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `${n}`)
const statuses = async (written: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(written)).map(({ status }) => status)

/** A batcher whose batches fail with the error that `fail` returns. */
function failing(
  fail: (inputs: readonly string[]) => unknown,
  options: Partial<BatcherOptions<string, string>> = {},
) {
  const batches: (readonly string[])[] = []
  const flush = async (inputs: readonly string[]) => {
    batches.push(inputs)
    await turns()
    const error = fail(inputs)
    if (error !== undefined) throw error
    return inputs
  }
  return {
    write: committing<string, string>({ keyOf, flush, ...options }),
    batches,
    with: (input: string) => batches.filter((batch) => batch.includes(input)),
  }
}

const ifAnyIs = (input: string, error: unknown) => (inputs: readonly string[]) =>
  inputs.includes(input) ? error : undefined

afterEach(() => void vi.useRealTimers())

it.each([
  ['a value that cannot be sent', new TypeError('not a value')],
  ['an error that the schema raises', coded('P0001')],
])('%s fails its write alone, after few batches', async (_, error) => {
  const { write, with: batchesWith } = failing(ifAnyIs('bad', error))
  const later = numbered(43).map((input) => `later ${input}`)
  const written = [...numbered(20), 'bad', ...later].map(write)
  expect((await statuses(written)).filter((status) => status === 'rejected')).toHaveLength(1)
  await expect(written[20]).rejects.toBe(error)
  expect(batchesWith('bad').map(({ length }) => length)).toEqual([64, 8, 1])
})

it.each(['57P01', '57P03', '08P01', '08006'])(
  'a whole batch fails at once if the connection breaks (%s)',
  async (code) => {
    const { write, batches } = failing(() => coded(code))
    expect(new Set(await statuses(numbered(16).map(write)))).toEqual(new Set(['rejected']))
    expect(batches).toHaveLength(1)
  },
)

it('a batch fails after five runs with a conflict', async () => {
  const { write, batches } = failing(() => coded('40P01'))
  expect(await statuses([write('a')])).toEqual(['rejected'])
  expect(batches).toHaveLength(5)
})

it('a refused write does not fail other writes for its lock', async () => {
  const { write } = failing(ifAnyIs('bad', coded('23514')), { lockOf: () => 'lock' })
  expect(await statuses(['a', 'bad', 'c'].map(write))).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
})

it('writes for one lock keep their order while a batch is split', async () => {
  const { write, batches } = failing(ifAnyIs('bad', coded('23514')), {
    lockOf: (input) => input.slice(0, 1),
  })
  await statuses(['l1', 'bad', 'l2', 'l3', 'l4', 'c', 'd', 'e', 'f', 'l5', 'l6'].map(write))
  const written = batches.filter((batch) => !batch.includes('bad')).flat()
  const ordered = ['l1', 'l2', 'l3', 'l4', 'l5', 'l6']
  expect(written.filter((input) => input.startsWith('l'))).toEqual(ordered)
})

it('a write that does not get its lock is tried alone ten more times, then fails', async () => {
  const { write, with: batchesWith } = failing(ifAnyIs('locked', coded(LOCKED)))
  const later = numbered(10).map((input) => `later ${input}`)
  const written = [...numbered(9), 'locked', ...later].map(write)
  expect((await statuses(written)).indexOf('rejected')).toBe(9)
  const alone = Array.from({ length: 11 }, () => 1)
  expect(batchesWith('locked').map(({ length }) => length)).toEqual([20, 3, ...alone])
})

it('two writes that did not get their locks are never in one batch', async () => {
  const { write, batches } = failing(() => coded(LOCKED))
  const first = write('a')
  await turns()
  expect(await statuses([first, write('b')])).toEqual(['rejected', 'rejected'])
  expect(new Set(batches.map(({ length }) => length))).toEqual(new Set([1]))
})

it('writes for a lock that is not released all fail, run no more, and later writes succeed', async () => {
  let isLocked = true
  const { write, batches } = failing(() => (isLocked ? coded(LOCKED) : undefined), {
    lockOf: () => 'lock',
  })
  expect(await statuses(['a', 'b', 'c'].map(write))).toEqual(['rejected', 'rejected', 'rejected'])
  isLocked = false
  expect(await write('next')).toBe('next')
  await turns(10)
  const others = batches.slice(1).flat()
  expect(others.filter((input) => input !== 'a')).toEqual(['next'])
})

it('an input without a lock that fails does not fail other inputs without a lock', async () => {
  const { write: ask } = failing(ifAnyIs('locked', coded(LOCKED)), {
    keyOf: undefined,
    maxBatchSize: 1,
    maxInFlight: 1,
  } as object)
  const asked = ['locked', ...numbered(40)].map(ask)
  expect((await statuses(asked)).filter((status) => status === 'rejected')).toHaveLength(1)
})

it('retries use at most two connections, and waiting retries count for `maxQueued`', async () => {
  const alone: string[] = []
  const flush = (inputs: readonly string[]) => {
    if (inputs.length > 1) return Promise.reject(coded(LOCKED))
    return new Promise<never>(() => alone.push(`${inputs[0]}`))
  }
  const write = committing<string, string>({ keyOf, maxQueued: 6, flush })
  for (const input of numbered(6)) void write(input)
  await turns(20)
  expect(alone).toEqual(['0', '1'])
  void write('6').catch(() => undefined)
  void write('7').catch(() => undefined)
  await expect(write('8')).rejects.toThrow('6 writes are waiting already')
})

it('at most two stuck batches let others go ahead, and two batches run again after they end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { batches, ends, flush } = heldFlush()
  const write = committing<string, string>({ keyOf, maxBatchSize: 1, flush })
  const written = numbered(9).map(write)
  for (const expected of [2, 4, 4]) {
    await turns(5)
    expect(batches).toHaveLength(expected)
    vi.advanceTimersByTime(500)
  }
  for (const end of ends.splice(0)) end()
  await Promise.all(written.slice(0, 4))
  await turns(5)
  expect(batches).toHaveLength(6)
  while (batches.length < 9 || ends.length > 0) {
    for (const end of ends.splice(0)) end()
    await turns()
  }
  expect(await Promise.all(written)).toEqual(numbered(9))
})

it('a batch that ended is not stuck', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { write } = failing(() => undefined, { lockOf: () => 'lock' })
  await write('a')
  await turns()
  vi.advanceTimersByTime(500)
  expect(await write('b')).toBe('b')
})

it('a batch frees its slot if all waiting writes wait for a lock', async () => {
  const slots = new BatchSlots(1, 60_000)
  let isLocked = true
  const kind = (fail: () => unknown) => failing(fail, { lockOf: () => 'lock', slots }).write
  const write = kind(() => (isLocked ? coded(LOCKED) : undefined))
  const first = write('first')
  await turns(4)
  const behind = write('behind')
  await turns()
  expect(await kind(() => undefined)('of another kind')).toBe('of another kind')
  isLocked = false
  expect(await Promise.all([first, behind])).toEqual(['first', 'behind'])
})
