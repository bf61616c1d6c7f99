import { describe, expect, it } from 'vitest'
import { decideFailure, split, takeBatch, type AfterFailure, type Write } from './batch.js'

const aWrite = (key: string, change: Partial<Write<string, void>> = {}): Write<string, void> => ({
  input: key,
  key,
  lock: key,
  maxBatchSize: 10,
  length: 0,
  lockFailures: 0,
  deadline: Infinity,
  resolve: () => undefined,
  reject: () => undefined,
  ...change,
})
const inputs = (writes: readonly Write<string, void>[]) => writes.map(({ input }) => input).join('')

describe('takeBatch', () => {
  it.each<[string, Write<string, void>[], string, string]>([
    ['takes all writes that fit', [aWrite('a'), aWrite('b')], 'ab', ''],
    [
      'leaves a write that makes the batch too long',
      [aWrite('a', { length: 8 * 2 ** 20 }), aWrite('b', { length: 1 }), aWrite('c')],
      'ac',
      'b',
    ],
    ['takes a single write of any length', [aWrite('a', { length: Infinity })], 'a', ''],
    ['leaves a second write of one key', [aWrite('a'), aWrite('a'), aWrite('b')], 'ab', 'a'],
    ['leaves writes behind a full batch', [aWrite('a'), aWrite('b'), aWrite('c')], 'ab', 'c'],
    ['leaves blocked writes', [aWrite('x'), aWrite('a')], 'a', 'x'],
    ['keeps a write alone', [aWrite('a', { maxBatchSize: 1 }), aWrite('b')], 'a', 'b'],
    [
      'leaves a write that must be alone behind another one',
      [aWrite('a'), aWrite('b', { maxBatchSize: 1 }), aWrite('c')],
      'ac',
      'b',
    ],
  ])('%s', (_, writes, batch, rest) => {
    const taken = takeBatch(writes, 2, ({ input }) => input === 'x')
    expect([inputs(taken.batch), inputs(taken.rest)]).toEqual([batch, rest])
  })
})

describe('decideFailure', () => {
  const coded = (code: string) => Object.assign(new Error(code), { code })
  it.each<[unknown, number, number, AfterFailure]>([
    [coded('22021'), 2, 0, 'split'],
    [coded('23514'), 2, 0, 'split'],
    [coded('54000'), 2, 0, 'split'],
    [coded('P0001'), 2, 0, 'split'],
    [coded('55P03'), 2, 0, 'split'],
    [new TypeError('not a value'), 2, 0, 'split'],
    [coded('22021'), 1, 0, 'reject'],
    [coded('55P03'), 1, 0, 'retry'],
    [coded('55P03'), 1, 9, 'retry'],
    [coded('55P03'), 1, 10, 'reject'],
    [coded('ECONNREFUSED'), 2, 0, 'reject'],
    [coded('57P01'), 1, 0, 'reject'],
  ])('after %s in a batch of %i with %i lock failures: %s', (error, size, failures, decision) => {
    expect(decideFailure(error, size, failures)).toBe(decision)
  })
})

describe('split', () => {
  it.each([
    [64, 8],
    [8, 1],
    [20, 3],
    [2, 1],
  ])('of %i writes makes batches of at most %i', (size, max) => {
    const batch = Array.from({ length: size }, (_, n) => aWrite(`${n}`))
    expect(
      new Set(split(batch, 'why').map((write) => [write.maxBatchSize, write.error].join())),
    ).toEqual(new Set([`${max},why`]))
  })
})
