import { expect, it } from 'vitest'
import { OneAtATime } from './record-attempt.js'

it('work of one key runs in order, one at a time, and work of other keys goes ahead', async () => {
  const oneAtATime = new OneAtATime()
  const log: string[] = []
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const first = oneAtATime.run('a', async () => {
    await held
    log.push('first')
    throw new Error('it broke')
  })
  const second = oneAtATime.run('a', async () => log.push('second'))
  await oneAtATime.run('b', async () => log.push('other'))
  expect(log).toEqual(['other'])
  release()
  await expect(first).rejects.toThrow('it broke')
  await second
  expect(log).toEqual(['other', 'first', 'second'])
  await oneAtATime.run('a', async () => log.push('later'))
  expect(log.at(-1)).toBe('later')
})
