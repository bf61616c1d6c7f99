import { expect, it } from 'vitest'
import { AbortGroup } from './abort-group.js'

it('aborts running and later work, and no work that has ended', async () => {
  const group = new AbortGroup()
  const signals: AbortSignal[] = []
  const runUntil = (end: Promise<void>) =>
    group.run(({ signal }) => {
      signals.push(signal)
      return end
    })
  await runUntil(Promise.resolve())
  await expect(runUntil(Promise.reject(new Error('no')))).rejects.toThrow('no')
  void runUntil(new Promise(() => undefined))
  expect(group.aborted).toBe(false)
  group.abort('over')
  void runUntil(new Promise(() => undefined))
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, true, true])
  expect([signals[3]?.reason, group.aborted]).toEqual(['over', true])
})
