import { createClient, NotCompletedError } from '@org/agent-messaging-client'

const client = createClient({
  baseUrl: process.env['BASE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['KEY'],
})

try {
  const message = await client.messages.complete(
    'echo',
    { sessionId: 'customer-42', message: 'Where is my order?' },
    { idempotencyKey: 'order-42-ts-2', timeoutMs: 60_000 },
  )
  if (message.state === 'responded') console.log(message.response)
  else console.error(message.state, message.error?.message)
} catch (error) {
  if (!(error instanceof NotCompletedError)) throw error
  console.error('no answer yet, read it later:', error.messageId)
}
