import { expect, it } from 'vitest'
import { checkPages, seeded, wrongStats } from './seeded.js'

it('after the seed script, each number on each page equals a count of the log', async () => {
  const server = await seeded(120)
  expect(await wrongStats(server)).toEqual([])
  await checkPages(server)
})
