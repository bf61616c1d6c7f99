import { createClient } from '@org/agent-messaging-client'

const client = createClient({
  baseUrl: process.env['BASE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['KEY'],
})

// The client requests the next page when the loop needs it. Leave the loop with `break`.
for await (const message of client.messages.list('echo', { sessionId: 'customer-42' }))
  console.log(message.state, message.message)

for await (const { message, deliveries } of client.messages.search({ state: 'failed' }))
  console.log(message, deliveries)

for await (const delivery of client.deliveries.list({ status: 'exhausted' }))
  await client.deliveries.redeliver(delivery.id)
