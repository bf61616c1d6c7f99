import { createClient } from '@org/agent-messaging-client'

const client = createClient({
  baseUrl: process.env['BASE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['KEY'],
})

// Returns the answer if it comes within 3 seconds, or `pending`.
const sent = await client.messages.send(
  'echo',
  { sessionId: 'customer-42', message: 'Where is my order?', metadata: { channel: 'C1' } },
  { idempotencyKey: 'order-42-ts-1', waitSeconds: 3 },
)
console.log(sent.status, sent.status === 'responded' ? sent.response : sent.messageId)

// Waits for the end of the message. `status` stays `pending` after a failure, so look at `state`.
const message = await client.messages.get('echo', sent.messageId, { waitSeconds: 25 })
console.log(message.state, message.response ?? message.error?.message)
