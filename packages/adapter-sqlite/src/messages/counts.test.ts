import { anAgent, newMessage, PROJECT_ID, unwrap, unwrapError } from '@org/agent-messaging-testing'
import type { NewMessage, TokenTake } from '@org/agent-messaging-core/storage'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStorage } from '../open.js'

const AT = 20_000 * 86_400_000
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
  const counts = (messages: number): Partial<NewMessage> => ({
    count: { projectId: PROJECT_ID, subject: 'agent', id: 'a', at: AT, counts: { messages } },
  })

  const [first, broken, second] = await Promise.all([
    accept('a', counts(1)),
    accept('b', { ...counts(1), message: null as never }),
    accept('c', counts(1)),
  ])
  expect(unwrap(first)).toMatchObject({ kind: 'created', levels: [{ remaining: 1 }] })
  expect(unwrapError(broken)).toMatchObject({ kind: 'unavailable' })
  expect(unwrap(second)).toMatchObject({ kind: 'created', levels: [{ remaining: 0 }] })

  const refused = await accept('d', counts(1))
  expect(unwrap(refused).kind).toBe('rate_limited')
  const asked = { projectId: PROJECT_ID, subject: 'project', stepMs: 86_400_000 } as const
  const days = await storage.counts.read({ ...asked, from: AT, to: AT })
  expect(unwrap(days)).toMatchObject([{ counts: { messages: 2 } }])
})
