// Starts a server with an agent in Python, and sends two messages at the same time.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createServer, loadAgents } from '@org/agent-messaging-server'

const KEY = 'the-api-key-of-this-example'
const server = await createServer({
  port: 0,
  databasePath: ':memory:',
  masterKey: randomBytes(32),
  bootstrapApiKey: KEY,
  ...(await loadAgents(fileURLToPath(new URL('../agents.mjs', import.meta.url)))),
})

async function post(path: string, body: object) {
  const headers = {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    prefer: 'wait=30',
  }
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, string>
}

const { state } = await post('/v1/agents', {
  name: 'python',
  runtime: { kind: 'process', program: 'python' },
})
console.log('agent: ', state)

const send = (sessionId: string, message: string) =>
  post('/v1/agents/python/messages', { sessionId, message })
for (const { status, response } of await Promise.all([
  send('one', 'hello'),
  send('two', 'grüß Gott'),
])) {
  console.log('answer:', status, response)
}

await server.stop()
