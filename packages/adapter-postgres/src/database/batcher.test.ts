import { expect, it, onTestFinished, vi } from 'vitest'
import { coded, committing, heldFlush, turns } from '../../test/committing.js'
import { BatchSlots } from './batch-slots.js'

const keyOf = (input: string) => input.slice(0, 1)

it('a write starts a batch at once, and writes collect while two batches are under way', async () => {
  const { batches, end, flush } = heldFlush()
  const write = committing<string, string>({ keyOf, flush })
  const first = write('a')
  await turns()
  const second = write('b')
  await turns()
  const rest = ['c', 'd', 'e'].map(write)
  await turns()
  expect(batches).toEqual([['a'], ['b']])
  end()
  expect(await first).toBe('a')
  await turns(2)
  expect(batches.slice(2)).toEqual([['c', 'd', 'e']])
  end()
  end()
  expect(await Promise.all([second, ...rest])).toEqual(['b', 'c', 'd', 'e'])
})

it('batches under way are at most `maxInFlight`, and inputs without a key can share one', async () => {
  const { batches, end, flush } = heldFlush()
  const ask = committing<string, string>({ maxInFlight: 1, flush })
  const first = ask('a')
  await turns()
  const rest = ['b', 'a', 'a'].map(ask)
  await turns(2)
  expect(batches).toEqual([['a']])
  end()
  expect(await first).toBe('a')
  await turns(2)
  expect(batches.slice(1)).toEqual([['b', 'a', 'a']])
  end()
  expect(await Promise.all(rest)).toEqual(['b', 'a', 'a'])
})

it('batches of two kinds share slots, and a batch takes all inputs that came while it waited', async () => {
  const slots = new BatchSlots(1, 60_000)
  const { batches, end, flush } = heldFlush()
  const write = committing<string, string>({ flush, slots })
  const ask = committing<string, string>({ flush, slots })
  const first = write('w1')
  await turns()
  const rest = [ask('a1'), write('w2'), ask('a2'), write('w3')]
  await turns(2)
  expect(batches).toEqual([['w1']])
  end()
  await first
  await turns(2)
  expect(batches.slice(1)).toEqual([['a1', 'a2']])
  end()
  await rest[0]
  await turns(2)
  expect(batches.slice(2)).toEqual([['w2', 'w3']])
  end()
  expect(await Promise.all(rest)).toEqual(['a1', 'w2', 'a2', 'w3'])
})

it('two writes of one key are in different batches, and a batch has at most `maxBatchSize` writes', async () => {
  const { batches, end, flush } = heldFlush()
  const write = committing<string, string>({ keyOf, maxBatchSize: 2, flush })
  const written = ['a1', 'a2', 'b1', 'c1'].map(write)
  for (let n = 0; n < 8; n++) {
    await turns()
    end()
  }
  expect(await Promise.all(written)).toEqual(['a1', 'a2', 'b1', 'c1'])
  expect(batches).toEqual([
    ['a1', 'b1'],
    ['a2', 'c1'],
  ])
})

it('other batches go ahead of a stuck batch, without writes for its lock', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { batches, end, flush } = heldFlush()
  const write = committing<string, string>({ keyOf, lockOf: (input) => input.slice(1), flush })
  const first = write('a1')
  await turns()
  const second = write('b2')
  await turns()
  const rest = ['c1', 'd3', 'e2'].map(write)
  await turns()
  expect(batches).toEqual([['a1'], ['b2']])
  vi.advanceTimersByTime(500)
  vi.useRealTimers()
  await turns()
  expect(batches.slice(2)).toEqual([['d3']])
  for (let n = 0; n < 5; n++) {
    end()
    await turns(2)
  }
  expect(batches.slice(3)).toEqual([['c1'], ['e2']])
  expect(await Promise.all([first, second, ...rest])).toEqual(['a1', 'b2', 'c1', 'd3', 'e2'])
})

it('a write is rejected if `maxQueued` writes wait', async () => {
  const write = committing<string, string>({ keyOf, maxQueued: 1, flush: async (all) => all })
  const waiting = write('a')
  await expect(write('b')).rejects.toThrow('1 writes are waiting already')
  expect(await waiting).toBe('a')
})

it.each(['22021', '23514', '54000', '55P03'])(
  'after %s only the write that the database refuses fails',
  async (code) => {
    const flush = (inputs: readonly string[]) =>
      inputs.includes('bad') ? Promise.reject(coded(code)) : Promise.resolve(inputs)
    const write = committing<string, string>({ keyOf, flush })
    const done = await Promise.allSettled(['a', 'bad', 'c'].map(write))
    expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  },
)

it('writes succeed while another one waits for its lock, except writes for the same lock', async () => {
  const batches: (readonly string[])[] = []
  let isLocked = true
  const flush = (inputs: readonly string[]) => {
    batches.push(inputs)
    return isLocked && inputs.some((input) => input.endsWith(' locked'))
      ? Promise.reject(coded('55P03'))
      : Promise.resolve(inputs)
  }
  const lockOf = (input: string) => input.split(' ').at(-1) ?? ''
  const write = committing<string, string>({ keyOf: (input) => input, lockOf, flush })
  const first = write('first locked')
  await Promise.all(Array.from({ length: 63 }, (_, n) => write(`${n}`)))
  const sizes = batches.filter((batch) => batch.includes('first locked')).map((all) => all.length)
  expect(sizes).toEqual(expect.arrayContaining([64, 8, 1]))
  const late = ['second locked', 'a', 'b'].map(write)
  await Promise.all(late.slice(1))
  expect(batches.flat()).not.toContain('second locked')
  isLocked = false
  expect(await Promise.all([first, late[0]])).toEqual(['first locked', 'second locked'])
})

it('writes succeed while many others wait for their locks', async () => {
  const flush = (inputs: readonly string[]) => {
    if (!inputs.some((input) => input.startsWith('locked'))) return Promise.resolve(inputs)
    return inputs.length > 1 ? Promise.reject(coded('55P03')) : new Promise<never>(() => undefined)
  }
  const write = committing<string, string>({ keyOf: (input) => input, flush })
  for (let n = 0; n < 20; n++) void write(`locked ${n}`)
  await turns(20)
  expect(await Promise.all(['a', 'b'].map(write))).toEqual(['a', 'b'])
})

it('all writes for a lock fail with the first one that does not get the lock', async () => {
  const batches: (readonly string[])[] = []
  const flush = async (inputs: readonly string[]) => {
    batches.push(inputs)
    await turns()
    throw coded('55P03')
  }
  const write = committing<string, string>({ keyOf, lockOf: () => 'lock', flush })
  const first = write('first')
  while (batches.length < 2) await turns()
  const done = await Promise.allSettled([first, write('second'), write('third')])
  expect(done.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(new Set(batches.flat())).toEqual(new Set(['first']))
})

it('a write waits at most ten seconds for locks', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const tried: { input: string; fail(): void }[] = []
  const flush = (inputs: readonly string[]) =>
    inputs.length > 1
      ? Promise.reject(coded('55P03'))
      : new Promise<never>((_, reject) => {
          tried.push({ input: `${inputs[0]}`, fail: () => reject(coded('55P03')) })
        })
  const write = committing<string, string>({ keyOf, flush })
  const written = Promise.allSettled(['a', 'b', 'c', 'd', 'e', 'f'].map(write))
  while (tried.length < 2) await turns()
  vi.advanceTimersByTime(10_000)
  for (const { fail } of tried) fail()
  const done = await written
  vi.useRealTimers()
  expect(new Set(done.map(({ status }) => status))).toEqual(new Set(['rejected']))
  expect(tried.map(({ input }) => input)).toEqual(['a', 'b'])
})

it.each(['40001', '40P01', '23505'])('a batch runs again after %s', async (code) => {
  const runs: (readonly string[])[] = []
  const flush = (inputs: readonly string[]) =>
    runs.push(inputs) < 3 ? Promise.reject(coded(code)) : Promise.resolve(inputs)
  const write = committing<string, string>({ keyOf, flush })
  expect(await Promise.all(['a', 'b'].map(write))).toEqual(['a', 'b'])
  expect(runs).toEqual([
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b'],
  ])
})

it('a whole batch fails at once if the database cannot be reached', async () => {
  let runs = 0
  const flush = () => {
    runs++
    return Promise.reject(coded('ECONNREFUSED'))
  }
  const write = committing<string, string>({ keyOf, flush })
  const done = await Promise.allSettled(['a', 'b', 'c'].map(write))
  expect(done.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(runs).toBe(1)
})
