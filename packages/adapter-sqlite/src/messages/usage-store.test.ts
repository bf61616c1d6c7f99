import { anAgent, newMessage, PROJECT_ID } from '@org/agent-messaging-testing'
import type { NewMessage, TokenTake } from '@org/agent-messaging-core/storage'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStorage } from '../open.js'

const DAY = 20_000
const takes: readonly TokenTake[] = [
  { bucket: 'project p', of: 'project', limit: { messagesPerMinute: 1, burst: 2 } },
]

it('a write that fails in a batch keeps no counts and no tokens, and the others keep theirs', async () => {
  const storage = openSqliteStorage({ path: ':memory:' })
  onTestFinished(() => storage.close())
  const agent = anAgent()
  await storage.agents.create(agent, 1)
  const accept = (sessionId: string, message: Partial<NewMessage>) =>
    storage.messages.accept(newMessage(agent, { sessionId, takes, ...message }))
  const counts = (messages: number) => ({
    usage: { projectId: PROJECT_ID, day: DAY, counts: { messages } },
  })

  const [first, broken, second] = await Promise.all([
    accept('a', counts(1)),
    accept('b', counts(0.25)), // the column takes whole numbers
    accept('c', counts(1)),
  ])
  expect(first._unsafeUnwrap()).toMatchObject({ kind: 'created', levels: [{ remaining: 1 }] })
  expect(broken._unsafeUnwrapErr()).toMatchObject({ kind: 'unavailable' })
  expect(second._unsafeUnwrap()).toMatchObject({ kind: 'created', levels: [{ remaining: 0 }] })

  const refused = await accept('d', counts(1))
  expect(refused._unsafeUnwrap().kind).toBe('rate_limited')
  const days = await storage.usage.read({ projectId: PROJECT_ID, fromDay: DAY, toDay: DAY })
  expect(days._unsafeUnwrap()).toMatchObject([{ counts: { messages: 2 } }])
})
