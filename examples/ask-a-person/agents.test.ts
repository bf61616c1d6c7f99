import { createMessaging } from '@org/agent-messaging-node'
import { expect, it, onTestFinished } from 'vitest'
import agents from './agents.mjs'

it('an agent asks a person two questions before it pays', async () => {
  const messaging = await createMessaging({ database: ':memory:', agents })
  onTestFinished(() => messaging.stop())
  const { messages, inputs } = messaging
  const sent = await messages.send({ agent: 'payer', sessionId: 's', message: '1,200 EUR' })
  const ref = { agent: 'payer', messageId: sent.messageId }
  const open = async () => {
    const message = await messages.get({ ...ref, waitMs: 5_000 })
    const input = message.inputs?.at(-1)
    return { inputId: input?.id ?? '', question: input?.question, message }
  }
  const first = await open()
  expect(first.question).toBe('Pay 1,200 EUR?')
  await inputs.answer({ ...ref, inputId: first.inputId, value: 'approve' })
  const second = await open()
  expect(second.question).toBe('What is the number of the order?')
  await inputs.answer({ ...ref, inputId: second.inputId, value: 7 })
  const { message } = await open()
  expect(message).toMatchObject({ response: 'Paid 1,200 EUR for order 7.' })
})
