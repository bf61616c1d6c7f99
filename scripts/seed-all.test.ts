import { expect, it } from 'vitest'
import { checkPages, seeded, waitForHeld, wrongStats } from './seeded.js'

it(
  'after 2,501 messages of the seed script, each number on each page equals a count of the log',
  { timeout: 900_000 },
  async () => {
    const server = await seeded(2_501)
    expect(await waitForHeld(server)).toBe(true)
    expect(await wrongStats(server)).toEqual([])
    await checkPages(server)
  },
)
