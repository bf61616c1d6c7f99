import { describe, expect, it } from 'vitest'
import { createInTurn } from './in-turn.js'

const defects: unknown[] = []
const inTurn = () => createInTurn((key, error) => void defects.push([key, String(error)]))

/** Work that ends when it is told to, and writes down when it begins. */
function jobs() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const job = (name: string) => () =>
    new Promise<void>((resolve) => {
      begun.push(name)
      ends.set(name, resolve)
    })
  return { begun, job, end: (name: string) => ends.get(name)?.() }
}

describe('work in turn', () => {
  it('waits for what was asked for before under its key, and for nothing else', async () => {
    const { run, keys } = inTurn()
    const { begun, job, end } = jobs()
    const [first, second, other] = [
      run('a', job('first')),
      run('a', job('second')),
      run('b', job('other')),
    ]
    await Promise.resolve()
    expect([begun, keys()]).toEqual([
      ['first', 'other'],
      ['a', 'b'],
    ])
    end('other')
    await other
    end('first')
    await first
    await Promise.resolve()
    expect([begun, keys()]).toEqual([['first', 'other', 'second'], ['a']])
    end('second')
    await second
    expect(keys()).toEqual([])
  })

  it('tells of what is the last under a key, and goes on behind what threw', async () => {
    const { run, underWay } = inTurn()
    const thrown = run('a', () => Promise.reject(new Error('a bug')))
    const next = run('a', async () => undefined)
    expect(underWay('a')).toBe(next)
    await thrown
    await next
    expect([underWay('a'), defects]).toEqual([undefined, [['a', 'Error: a bug']]])
  })
})
