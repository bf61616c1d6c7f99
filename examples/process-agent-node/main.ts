// Starts a server with an agent that runs as a child process. Prints an answer, and the answer of
// the second attempt after a crash.
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
  programLog: ({ line }, text) => console.log('log:    ', text, line),
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

const agent = {
  name: 'assistant',
  runtime: { kind: 'process', program: 'assistant' },
  defaultExecutionPrincipal: { type: 'end_user' },
}
const { state } = await post('/v1/agents', agent)
console.log('agent:  ', state)

const executionPrincipal = { type: 'end_user', endUserId: 'Ada' }
for (const message of ['hello', 'crash']) {
  const { status, response } = await post('/v1/agents/assistant/messages', {
    sessionId: 'first',
    message,
    executionPrincipal,
  })
  console.log('answer: ', status, response)
}

await server.stop()
