import { createMessaging } from '@org/agent-messaging-node'
import { expect, it, onTestFinished } from 'vitest'
import agents from './agents.mjs'

it('an agent remembers its session, and streams what it emits', async () => {
  const messaging = await createMessaging({ database: ':memory:', agents })
  onTestFinished(() => messaging.stop())
  const { messages } = messaging
  const say = async (message: string): Promise<unknown> => {
    const sent = await messages.send({ agent: 'waiter', sessionId: 'table-7', message })
    return sent
  }
  expect(await say('soup')).toMatchObject({ response: 'Turn 1. Your order: soup.' })
  expect(await say('bread')).toMatchObject({ response: 'Turn 2. Your order: soup, bread.' })
})
