import { ApiError, createClient } from '@org/agent-messaging-client'

const client = createClient({
  baseUrl: process.env['BASE_URL'] ?? 'http://127.0.0.1:3000',
  apiKey: process.env['KEY'],
  retries: 2, // the default is 4
})

try {
  await client.messages.send('nobody', { sessionId: 's', message: 'Hello' })
} catch (error) {
  if (!(error instanceof ApiError)) throw error // no connection, or an abort
  console.error(error.status, error.code, error.message, error.issues, error.requestId)
}
