import { expect, it } from 'vitest'
import { KeyedQueue } from './keyed-queue.js'

/** Work that the test ends by its name. */
function jobs() {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const job = (name: string) => () =>
    new Promise<void>((resolve) => {
      started.push(name)
      ends.set(name, resolve)
    })
  return { started, job, end: (name: string) => ends.get(name)?.() }
}

it('work waits for earlier work of its key only', async () => {
  const queue = new KeyedQueue(() => undefined)
  const { started, job, end } = jobs()
  const first = queue.run('a', job('first'))
  const second = queue.run('a', job('second'))
  const other = queue.run('b', job('other'))
  await Promise.resolve()
  expect([started, queue.keys()]).toEqual([
    ['first', 'other'],
    ['a', 'b'],
  ])
  end('other')
  await other
  end('first')
  await first
  await Promise.resolve()
  expect([started, queue.keys()]).toEqual([['first', 'other', 'second'], ['a']])
  end('second')
  await second
  expect(queue.keys()).toEqual([])
})

it('the queue reports an error and continues with the next work', async () => {
  const errors: unknown[] = []
  const queue = new KeyedQueue((key, error) => void errors.push([key, String(error)]))
  const failed = queue.run('a', () => Promise.reject(new Error('a bug')))
  const next = queue.run('a', async () => undefined)
  expect(queue.last('a')).toBe(next)
  await failed
  await next
  expect([queue.last('a'), errors]).toEqual([undefined, [['a', 'Error: a bug']]])
})
