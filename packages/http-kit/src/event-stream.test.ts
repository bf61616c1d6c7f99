import { expect, it } from 'vitest'
import { replyEvents } from './event-stream.js'

it('a fast stream lets other work run between two pieces', async () => {
  const source = {
    next: async () => ({ text: ': piece\n\n', isLast: false, isPiece: true }),
    close: async () => undefined,
  }
  const reader = replyEvents({ get: () => 'a-request' }, source).body?.getReader()
  let isTurnOfOthers = false
  setImmediate(() => (isTurnOfOthers = true))
  for (let event = 0; event < 1_000 && !isTurnOfOthers; event++) await reader?.read()
  expect(isTurnOfOthers).toBe(true)
  await reader?.cancel()
})
