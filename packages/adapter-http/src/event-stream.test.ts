import type { AnswerStream } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { expect, it } from 'vitest'
import { replyEvents } from './event-stream.js'
import type { Env } from './env.js'

it('a fast stream lets other work run between two chunks', async () => {
  const piece = { kind: 'chunk', id: '1.2', attempt: 1, offset: 0, text: 'Hi' } as const
  const stream: Pick<AnswerStream, 'next' | 'return'> = {
    next: async () => ({ done: false, value: piece }),
  }
  const reader = replyEvents(
    { get: () => 'a-request' } as unknown as Context<Env>,
    stream,
  ).body?.getReader()
  let isTurnOfOthers = false
  setImmediate(() => (isTurnOfOthers = true))
  for (let event = 0; event < 1_000 && !isTurnOfOthers; event++) await reader?.read()
  expect(isTurnOfOthers).toBe(true)
  await reader?.cancel()
})
