import { afterEach, expect, it, vi } from 'vitest'
import { createCommitter } from './committer.js'
import { createGate } from './gate.js'

// What becomes of the others when one of a batch fails, meets a lock or does not come back.

const turn = () => new Promise(setImmediate)
const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await turn()
}
const coded = (code: string) => Object.assign(new Error(code), { code })
const LOCKED = '55P03'
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `${n}`)
const statuses = async (written: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(written)).map(({ status }) => status)

type Failing = {
  readonly lane?: (input: string) => string
  readonly mostAtOnce?: number
  readonly maxQueued?: number
}

/** A committer whose batches `fail` says are refused, and why. */
function failing(
  fail: (inputs: readonly string[]) => unknown,
  { lane, mostAtOnce = 64, maxQueued = 200 }: Failing = {},
) {
  const batches: (readonly string[])[] = []
  const flush = async (inputs: readonly string[]) => {
    batches.push(inputs)
    await turn()
    const reason = fail(inputs)
    if (reason !== undefined) throw reason
    return inputs
  }
  const laneOf = lane ?? ((input: string) => input)
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, laneOf, mostAtOnce, flush },
    maxQueued,
  )
  return {
    write,
    batches,
    with: (input: string) => batches.filter((batch) => batch.includes(input)),
  }
}

const ifAnyIs = (input: string, reason: unknown) => (inputs: readonly string[]) =>
  inputs.includes(input) ? reason : undefined

/** A committer whose batches stay under way until they are ended. */
function underWay(lane: (input: string) => string) {
  const batches: (readonly string[])[] = []
  const ends: (() => void)[] = []
  const flush = async (inputs: readonly string[]) => {
    batches.push(inputs)
    await new Promise<void>((end) => ends.push(end))
    return inputs
  }
  return {
    batches,
    ends,
    batching: { keyOf: (input: string) => input, laneOf: lane, mostAtOnce: 1, flush },
  }
}

afterEach(() => void vi.useRealTimers())

it.each([
  ['what cannot be sent', new TypeError('not a value')],
  ['what the schema raises', coded('P0001')],
])('finds %s in as few batches as it takes, and fails it alone', async (_, reason) => {
  const { write, with: batchesWith } = failing(ifAnyIs('bad', reason))
  const written = [...numbered(20), 'bad', ...numbered(43).map((input) => `later ${input}`)].map(
    write,
  )
  expect((await statuses(written)).filter((status) => status === 'rejected')).toHaveLength(1)
  await expect(written[20]).rejects.toBe(reason)
  expect(batchesWith('bad').map(({ length }) => length)).toEqual([64, 8, 1])
})

it.each(['57P01', '57P03', '08P01', '08006'])(
  'fails all of a batch at once when the connection goes (%s)',
  async (code) => {
    const { write, batches } = failing(() => coded(code))
    expect(new Set(await statuses(numbered(16).map(write)))).toEqual(new Set(['rejected']))
    expect(batches).toHaveLength(1)
  },
)

it('runs a batch five times when others are always first, and then fails it', async () => {
  const { write, batches } = failing(() => coded('40P01'))
  expect(await statuses([write('a')])).toEqual(['rejected'])
  expect(batches).toHaveLength(5)
})

it('fails nothing of a lane but what the database refuses', async () => {
  const { write } = failing(ifAnyIs('bad', coded('23514')), { lane: () => 'lane' })
  expect(await statuses(['a', 'bad', 'c'].map(write))).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
})

it('keeps the order of a lane while it looks for what is refused', async () => {
  const { write, batches } = failing(ifAnyIs('bad', coded('23514')), {
    lane: (input) => input.slice(0, 1),
  })
  await statuses(['l1', 'bad', 'l2', 'l3', 'l4', 'c', 'd', 'e', 'f', 'l5', 'l6'].map(write))
  const made = batches.filter((batch) => !batch.includes('bad')).flat()
  expect(made.filter((input) => input.startsWith('l'))).toEqual([
    'l1',
    'l2',
    'l3',
    'l4',
    'l5',
    'l6',
  ])
})

it('tries who meets a lock alone, ten times more, and then fails it', async () => {
  const { write, with: batchesWith } = failing(ifAnyIs('locked', coded(LOCKED)))
  const written = [...numbered(9), 'locked', ...numbered(10).map((input) => `later ${input}`)].map(
    write,
  )
  expect((await statuses(written)).indexOf('rejected')).toBe(9)
  expect(batchesWith('locked').map(({ length }) => length)).toEqual([
    20,
    3,
    ...Array.from({ length: 11 }, () => 1),
  ])
})

it('never tries two together that met a lock, each alone', async () => {
  const { write, batches } = failing(() => coded(LOCKED))
  const first = write('a')
  await turn()
  expect(await statuses([first, write('b')])).toEqual(['rejected', 'rejected'])
  expect(new Set(batches.map(({ length }) => length))).toEqual(new Set([1]))
})

it('fails all of a lane with the one that its lock outlasts, makes none of them afterwards, and takes the lane’s next ones', async () => {
  let isLocked = true
  const { write, batches } = failing(() => (isLocked ? coded(LOCKED) : undefined), {
    lane: () => 'lane',
  })
  expect(await statuses(['a', 'b', 'c'].map(write))).toEqual(['rejected', 'rejected', 'rejected'])
  isLocked = false
  expect(await write('next')).toBe('next')
  await turns(10)
  expect(
    batches
      .slice(1)
      .flat()
      .filter((input) => input !== 'a'),
  ).toEqual(['next'])
})

it('leaves alone what has no lane when one that has none meets a lock', async () => {
  const flush = async (inputs: readonly string[]) => {
    await turn()
    if (inputs.includes('locked')) throw coded(LOCKED)
    return inputs
  }
  const ask = createCommitter<string, string>({ mostAtOnce: 1, mostInFlight: 1, flush }, 100)
  const asked = ['locked', ...numbered(40)].map(ask)
  expect((await statuses(asked)).filter((status) => status === 'rejected')).toHaveLength(1)
})

it('has two connections at most for those that failed together, and counts who waits for one among the waiting', async () => {
  const alone: string[] = []
  const flush = (inputs: readonly string[]) => {
    if (inputs.length > 1) return Promise.reject(coded(LOCKED))
    return new Promise<never>(() => alone.push(`${inputs[0]}`))
  }
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, mostAtOnce: 64, flush },
    6,
  )
  for (const input of numbered(6)) void write(input)
  await turns(20)
  expect(alone).toEqual(['0', '1'])
  void write('6').catch(() => undefined)
  void write('7').catch(() => undefined)
  await expect(write('8')).rejects.toThrow('6 writes are waiting already')
})

it('puts two batches aside that do not come back, and no more; when they have, two are under way again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { batches, ends, batching } = underWay((input) => input)
  const write = createCommitter<string, string>(batching, 100)
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
    await turn()
  }
  expect(await Promise.all(written)).toEqual(numbered(9))
})

it('forgets a batch that came back, however long ago', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { write } = failing(() => undefined, { lane: () => 'lane' })
  await write('a')
  await turn()
  vi.advanceTimersByTime(500)
  expect(await write('b')).toBe('b')
})

it('gives its place at the gate back when all that waits is held up', async () => {
  const gate = createGate(1, 60_000)
  let isLocked = true
  const kind = (fail: () => unknown) => {
    const flush = (inputs: readonly string[]) => {
      const reason = fail()
      return reason === undefined
        ? Promise.resolve(inputs)
        : turn().then(() => Promise.reject(reason))
    }
    return createCommitter<string, string>(
      { keyOf: (input) => input, laneOf: () => 'lane', mostAtOnce: 64, flush },
      100,
      gate,
    )
  }
  const write = kind(() => (isLocked ? coded(LOCKED) : undefined))
  const first = write('first')
  await turns(4)
  const behind = write('behind')
  await turn()
  expect(await kind(() => undefined)('of another kind')).toBe('of another kind')
  isLocked = false
  expect(await Promise.all([first, behind])).toEqual(['first', 'behind'])
})
