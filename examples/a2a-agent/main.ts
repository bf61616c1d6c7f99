// Talks to a remote agent over A2A. The first message starts a task of the agent. The agent asks
// a question, and an answer of a person continues the task.
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

const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

type Message = {
  readonly input?: { readonly id: string; readonly question: string }
  readonly response?: string
}

/** Reads a message. */
async function get(path: string, prefer = 'wait=0'): Promise<Message> {
  const response = await fetch(server.url + path, { headers: { ...headers, prefer } })
  return (await response.json()) as Message
}

async function post(path: string, body: object): Promise<Record<string, string>> {
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
const send = (message: string) =>
  post('/v1/agents/table/messages', { sessionId: 'dinner', message, executionPrincipal })

const { messageId } = await send('a table for tonight, please')
const path = `/v1/agents/table/messages/${messageId}`
const { input } = await get(path)
console.log(`a table for tonight, please\n  asks: ${input?.question}`)
await post(`${path}/input`, { inputId: input?.id, value: 'four of us' })
console.log(`four of us\n  responded: ${(await get(path, 'wait=10')).response}`)
const other = await send('and one for two tomorrow')
console.log(`and one for two tomorrow\n  ${other['status']}: ${other['response']}`)

program.kill()
await server.stop()
