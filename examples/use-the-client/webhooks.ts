import { createClient } from '@org/agent-messaging-client'

const client = createClient({
  baseUrl: process.env['BASE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['KEY'],
})

const { id, secret } = await client.webhooks.create({
  url: 'http://127.0.0.1:4000/',
  events: ['message.responded', 'message.failed'],
})
console.log('keep this secret:', secret) // shown only once
await client.webhooks.update(id, { filter: { sessionIdPrefix: 'customer-' } })
const test = await client.webhooks.test(id)
console.log((await client.deliveries.get(test.id)).status)
await client.webhooks.delete(id)
