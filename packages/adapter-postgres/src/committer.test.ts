import { expect, it, onTestFinished, vi } from 'vitest'
import { createCommitter } from './committer.js'
import { createGate } from './gate.js'

/** A flush that ends when it is told to, with batches as it was given them. */
function held(mostAtOnce = 10, maxQueued = 100, laneOf = (input: string) => input) {
  const batches: string[][] = []
  const ends: (() => void)[] = []
  const flush = async (inputs: readonly string[]) => {
    batches.push([...inputs])
    await new Promise<void>((end) => ends.push(end))
    return inputs.map((input) => input.toUpperCase())
  }
  const write = createCommitter<string, string>(
    { keyOf: (input) => input.slice(0, 1), laneOf, mostAtOnce, flush },
    maxQueued,
  )
  return { write, batches, end: () => ends.shift()?.() }
}

const turn = () => new Promise(setImmediate)
const coded = (code: string) => Object.assign(new Error(code), { code })

it('writes at once when idle, and collects while two batches are under way', async () => {
  const { write, batches, end } = held()
  const first = write('a')
  await turn()
  const second = write('b')
  await turn()
  const rest = ['c', 'd', 'e'].map(write)
  await turn()
  expect(batches).toEqual([['a'], ['b']])
  end()
  expect(await first).toBe('A')
  await turn()
  await turn()
  expect(batches.slice(2)).toEqual([['c', 'd', 'e']])
  end()
  end()
  expect(await Promise.all([second, ...rest])).toEqual(['B', 'C', 'D', 'E'])
})

/** Batches as they come, each under way until its end is called. */
function heldFlush() {
  const batches: (readonly string[])[] = []
  const ends: (() => void)[] = []
  const flush = async (inputs: readonly string[]) => {
    batches.push(inputs)
    await new Promise<void>((end) => ends.push(end))
    return inputs
  }
  return { batches, ends, flush }
}

it('begins no more batches at a time than it may, and keeps nothing apart that has no key', async () => {
  const { batches, ends, flush } = heldFlush()
  const ask = createCommitter<string, string>({ mostAtOnce: 10, mostInFlight: 1, flush }, 100)
  const first = ask('a')
  await turn()
  const rest = ['b', 'a', 'a'].map(ask)
  await turn()
  await turn()
  expect(batches).toEqual([['a']])
  ends.shift()?.()
  expect(await first).toBe('a')
  await turn()
  await turn()
  expect(batches.slice(1)).toEqual([['b', 'a', 'a']])
  ends.shift()?.()
  expect(await Promise.all(rest)).toEqual(['b', 'a', 'a'])
})

it('shares the places of a gate with other kinds, and goes with all that came until there was one', async () => {
  const gate = createGate(1, 60_000)
  const { batches, ends, flush } = heldFlush()
  const kind = () => createCommitter<string, string>({ mostAtOnce: 10, flush }, 100, gate)
  const [write, ask] = [kind(), kind()]
  const first = write('w1')
  await turn()
  const rest = [ask('a1'), write('w2'), ask('a2'), write('w3')]
  await turn()
  await turn()
  expect(batches).toEqual([['w1']])
  ends.shift()?.()
  await first
  await turn()
  await turn()
  expect(batches.slice(1)).toEqual([['a1', 'a2']])
  ends.shift()?.()
  await rest[0]
  await turn()
  await turn()
  expect(batches.slice(2)).toEqual([['w2', 'w3']])
  ends.shift()?.()
  expect(await Promise.all(rest)).toEqual(['a1', 'w2', 'a2', 'w3'])
})

it('collects what nobody waits for, until the last batch is so long ago or it is much', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const batches: (readonly number[])[] = []
  const flush = async (inputs: readonly number[]) => (batches.push(inputs), inputs)
  const write = createCommitter<number, number>({ mostAtOnce: 500, lingerMs: 40, flush }, 1_000)
  await write(1)
  const second = write(2)
  await vi.advanceTimersByTimeAsync(39)
  const third = write(3)
  await turn()
  expect(batches).toEqual([[1]])
  await vi.advanceTimersByTimeAsync(1)
  await Promise.all([second, third])
  expect(batches).toEqual([[1], [2, 3]])
  await Promise.all(Array.from({ length: 128 }, (_, n) => write(n)))
  expect(batches[2]).toHaveLength(128)
})

it('keeps two of one key apart, and a batch within its size', async () => {
  const { write, batches, end } = held(2)
  const written = ['a1', 'a2', 'b1', 'c1'].map(write)
  for (let n = 0; n < 8; n++) {
    await turn()
    end()
  }
  expect(await Promise.all(written)).toEqual(['A1', 'A2', 'B1', 'C1'])
  expect(batches).toEqual([
    ['a1', 'b1'],
    ['a2', 'c1'],
  ])
})

it('goes on beside batches that wait for a lock, but for what would wait for the same one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { write, batches, end } = held(10, 100, (input) => input.slice(1))
  const first = write('a1')
  await turn()
  const second = write('b2')
  await turn()
  const rest = ['c1', 'd3', 'e2'].map(write)
  await turn()
  expect(batches).toEqual([['a1'], ['b2']])
  vi.advanceTimersByTime(500)
  vi.useRealTimers()
  await turn()
  expect(batches.slice(2)).toEqual([['d3']])
  for (let n = 0; n < 5; n++) {
    end()
    await turn()
    await turn()
  }
  expect(batches.slice(3)).toEqual([['c1'], ['e2']])
  expect(await Promise.all([first, second, ...rest])).toEqual(['A1', 'B2', 'C1', 'D3', 'E2'])
})

it('takes no more than may wait', async () => {
  const { write, end } = held(1, 1)
  const waiting = write('a')
  await expect(write('b')).rejects.toThrow('1 writes are waiting already')
  await turn()
  end()
  expect(await waiting).toBe('A')
})

it.each(['22021', '23514', '54000', '55P03'])(
  'fails the one that the database refuses (%s), and no other',
  async (code) => {
    const flush = (inputs: readonly string[]) =>
      inputs.includes('bad') ? Promise.reject(coded(code)) : Promise.resolve(inputs)
    const write = createCommitter<string, string>(
      { keyOf: (input) => input, mostAtOnce: 10, flush },
      10,
    )
    const done = await Promise.allSettled(['a', 'bad', 'c'].map(write))
    expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  },
)

it('makes the others while one waits for a lock, with nothing beside it that would wait for the same one', async () => {
  const batches: (readonly string[])[] = []
  let isLocked = true
  const flush = (inputs: readonly string[]) => {
    batches.push(inputs)
    return isLocked && inputs.some((input) => input.endsWith(' locked'))
      ? Promise.reject(coded('55P03'))
      : Promise.resolve(inputs)
  }
  const laneOf = (input: string) => input.split(' ').at(-1) ?? ''
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, laneOf, mostAtOnce: 64, flush },
    200,
  )
  const first = write('first locked')
  const others = Array.from({ length: 63 }, (_, n) => write(`${n}`))
  await Promise.all(others)
  expect(
    batches.filter((batch) => batch.includes('first locked')).map(({ length }) => length),
  ).toEqual(expect.arrayContaining([64, 8, 1]))
  const late = ['second locked', 'a', 'b'].map(write)
  await Promise.all(late.slice(1))
  expect(batches.flat()).not.toContain('second locked')
  isLocked = false
  expect(await Promise.all([first, late[0]])).toEqual(['first locked', 'second locked'])
})

it('makes the others however many wait for a lock', async () => {
  // A batch fails, and who is alone waits.
  const flush = (inputs: readonly string[]) => {
    if (!inputs.some((input) => input.startsWith('locked'))) return Promise.resolve(inputs)
    return inputs.length > 1 ? Promise.reject(coded('55P03')) : new Promise<never>(() => undefined)
  }
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, mostAtOnce: 64, flush },
    200,
  )
  for (let n = 0; n < 20; n++) void write(`locked ${n}`)
  for (let n = 0; n < 20; n++) await turn()
  expect(await Promise.all(['a', 'b'].map(write))).toEqual(['a', 'b'])
})

it('gives up for all who wait for a lock when it does for the first of them', async () => {
  const batches: (readonly string[])[] = []
  const flush = (inputs: readonly string[]) => (
    batches.push(inputs),
    turn().then(() => Promise.reject(coded('55P03')))
  )
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, laneOf: () => 'lane', mostAtOnce: 64, flush },
    200,
  )
  const first = write('first')
  while (batches.length < 2) await turn()
  const done = await Promise.allSettled([first, write('second'), write('third')])
  expect(done.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(new Set(batches.flat())).toEqual(new Set(['first']))
})

it('makes nobody wait for locks for long, however many there are', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const met: { input: string; giveUp(): void }[] = []
  const flush = (inputs: readonly string[]) =>
    inputs.length > 1
      ? Promise.reject(coded('55P03'))
      : new Promise<never>((_, reject) =>
          met.push({ input: `${inputs[0]}`, giveUp: () => reject(coded('55P03')) }),
        )
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, mostAtOnce: 64, flush },
    200,
  )
  const written = Promise.allSettled(['a', 'b', 'c', 'd', 'e', 'f'].map(write))
  while (met.length < 2) await turn()
  vi.advanceTimersByTime(10_000)
  for (const { giveUp } of met) giveUp()
  const done = await written
  vi.useRealTimers()
  expect(new Set(done.map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(met.map(({ input }) => input)).toEqual(['a', 'b'])
})

it.each(['40001', '40P01', '23505'])('runs a batch again as it was after %s', async (code) => {
  const runs: (readonly string[])[] = []
  const flush = (inputs: readonly string[]) =>
    runs.push(inputs) < 3 ? Promise.reject(coded(code)) : Promise.resolve(inputs)
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, mostAtOnce: 10, flush },
    10,
  )
  expect(await Promise.all(['a', 'b'].map(write))).toEqual(['a', 'b'])
  expect(runs).toEqual([
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b'],
  ])
})

it('fails all of a batch at once when the database is away', async () => {
  let runs = 0
  const flush = () => Promise.reject((runs++, coded('ECONNREFUSED')))
  const write = createCommitter<string, string>(
    { keyOf: (input) => input, mostAtOnce: 10, flush },
    10,
  )
  const done = await Promise.allSettled(['a', 'b', 'c'].map(write))
  expect(done.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(runs).toBe(1)
})
