import { expect, it } from 'vitest'
import { inTurn } from './in-turn.js'

it('does the work of one key in order, one at a time and over failures, and lets other keys go on', async () => {
  const [turn, log] = [inTurn(), [] as string[]]
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const first = turn('a', async () => {
    await held
    log.push('first')
    throw new Error('it broke')
  })
  const second = turn('a', async () => log.push('second'))
  await turn('b', async () => log.push('other'))
  expect(log).toEqual(['other'])
  release()
  await expect(first).rejects.toThrow('it broke')
  await second
  expect(log).toEqual(['other', 'first', 'second'])
  await turn('a', async () => log.push('later'))
  expect(log.at(-1)).toBe('later')
})
