import { expect, it } from 'vitest'
import { createAbortGroup } from './abort-group.js'

it('ends what is under way, leaves alone what has ended, and has nothing begin from then on', async () => {
  const group = createAbortGroup()
  const signals: AbortSignal[] = []
  const until = (ends: Promise<void>) => group.run(({ signal }) => (signals.push(signal), ends))
  await until(Promise.resolve())
  await expect(until(Promise.reject(new Error('no')))).rejects.toThrow('no')
  void until(new Promise(() => undefined))
  expect(group.aborted).toBe(false)
  group.abort('over')
  void until(new Promise(() => undefined))
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, true, true])
  expect([signals[3]?.reason, group.aborted]).toEqual(['over', true])
})
