// Talks to a remote agent over A2A. The first message starts a task of the agent. The agent answers
// with a question, and the next message answers the question.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from '@org/agent-messaging-server'

const KEY = 'the-api-key-of-this-example'
const server = await createServer({
  port: 0,
  databasePath: ':memory:',
  masterKey: randomBytes(32),
  bootstrapApiKey: KEY,
  addresses: { allowLoopback: true, allowHttp: true },
})

async function post(path: string, body: object): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, string>
}

const program = fork(new URL('../agent.mjs', import.meta.url))
const [url] = (await once(program, 'message')) as [string]
await post('/v1/agents', { name: 'table', runtime: { kind: 'a2a', url } })

const executionPrincipal = { type: 'end_user', endUserId: 'Ada' }
for (const message of ['a table for tonight, please', 'four of us', 'and one for two tomorrow']) {
  const answer = await post('/v1/agents/table/messages', {
    sessionId: 'dinner',
    message,
    executionPrincipal,
  })
  console.log(`${message}\n  ${answer['status']}: ${answer['response']}`)
}

program.kill()
await server.stop()
