import createClient from 'openapi-fetch'
import type { components, paths } from './agent-messaging.js'

const { BASE_URL = 'http://127.0.0.1:3000', KEY = '' } = process.env
const client = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { Authorization: `Bearer ${KEY}` },
})

// The kind decides which options `runtime` has: `handler: 7` or `program` would not compile.
const runtime: components['schemas']['Runtime'] = { kind: 'function', handler: 'echo' }
const agent = await client.POST('/v1/agents', { body: { name: 'from-typescript', runtime } })
if (agent.error) throw new Error(agent.error.error.message)

const sent = await client.POST('/v1/agents/{id}/messages', {
  params: {
    path: { id: agent.data.id },
    header: { 'Idempotency-Key': 'order-42-typescript' },
  },
  body: {
    sessionId: 'first',
    message: 'Hello',
    executionPrincipal: { type: 'end_user', endUserId: 'u-17' },
  },
})
if (sent.error) throw new Error(sent.error.error.message)
if (sent.data.status === 'responded') console.log(sent.data.response)

const path = { id: agent.data.id, messageId: sent.data.messageId }
const { data: message } = await client.GET('/v1/agents/{id}/messages/{messageId}', {
  params: { path },
})
const principal = message?.executionPrincipal
if (principal?.type === 'end_user') console.log(principal.endUserId)

const missing = await client.GET('/v1/agents/{id}', { params: { path: { id: 'nobody' } } })
console.log(missing.error?.error.code)
