import { Test } from '@nestjs/testing'
import { fakeMessaging } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { AppModule, Support } from './app.module.js'
import { MESSAGING } from './messaging.module.js'

it('answers a question with the words of the agent', async () => {
  const messaging = await fakeMessaging({ agents: ['assistant'] })
  const app = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(MESSAGING)
    .useValue(messaging)
    .compile()
  const asked = app.get(Support).ask({ question: 'Where is my parcel?' })
  await messaging.clock.advance(0)
  const [sent] = (await messaging.messages.list({ agent: 'assistant' })).data
  expect(sent?.message).toBe('Where is my parcel?')
  await messaging.answer(sent?.messageId ?? '', 'It is at your neighbour')
  await messaging.clock.advance(0)
  expect(await asked).toEqual({ answer: 'It is at your neighbour' })
  await app.close() // the module stops the service
})
