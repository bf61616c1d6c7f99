import { createClient } from '@org/agent-messaging-client'

const client = createClient({
  baseUrl: process.env['BASE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['KEY'],
})

const { messageId } = await client.messages.send(
  'echo',
  { sessionId: 'customer-42', message: 'Tell me a story' },
  { idempotencyKey: 'order-42-ts-3', waitSeconds: 0 },
)
let shown = ''
let attempt = 0
for await (const event of client.messages.stream('echo', messageId)) {
  if (event.event === 'chunk') {
    if (event.attempt !== attempt) shown = '' // a new attempt starts the answer again
    attempt = event.attempt
    shown += event.text // here you update the screen
  }
  if (event.event === 'message') console.log(event.message.response ?? event.message.error?.message)
}
