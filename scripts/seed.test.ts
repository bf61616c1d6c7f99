import { expect, it } from 'vitest'
import { checkPages, seeded, wrongStats } from './seeded.js'

it('after the seed script, each number on each page equals a count of the log', async () => {
  // No retry changes a number while a page is read.
  const server = await seeded(120, { SERVICE_WEBHOOK_RETRY_SCHEDULE: '1h' })
  expect(await wrongStats(server)).toEqual([])
  await checkPages(server)
})
