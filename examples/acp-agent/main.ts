// Talks to an agent over ACP, restarts the server and the agent, and continues the conversation.
// The agent can read files. Before it deletes one, it asks a person.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createServer, type RunningServer } from '@org/agent-messaging-server'

const KEY = 'the-api-key-of-this-example'
const folder = mkdtempSync(path.join(tmpdir(), 'acp-agent-'))
const masterKey = randomBytes(32)

// For Gemini CLI: { command: 'gemini', args: ['--acp'], cwd: '/path/to/project', permissions: … }
const notes = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../agent.mjs', import.meta.url))],
  cwd: folder,
  permissions: { allow: ['read'], otherwise: 'ask' },
} as const

const start = (): Promise<RunningServer> =>
  createServer({
    port: 0,
    databasePath: path.join(folder, 'messages.db'),
    masterKey,
    bootstrapApiKey: KEY,
    programs: { notes },
  })

async function post(
  server: RunningServer,
  route: string,
  body: object,
): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const response = await fetch(`${server.url}${route}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, string>
}

async function get(server: RunningServer, route: string): Promise<Message> {
  const headers = { authorization: `Bearer ${KEY}` }
  return (await (await fetch(`${server.url}${route}`, { headers })).json()) as Message
}

type Message = {
  readonly status: string
  readonly response?: string
  readonly input?: { readonly id: string; readonly question: string }
}

/** Sends a message, prints the answer or the question, and returns the route of the message. */
async function say(server: RunningServer, message: string): Promise<string> {
  const executionPrincipal = { type: 'end_user', endUserId: 'Ada' }
  const body = { sessionId: 'cats', message, executionPrincipal }
  const { messageId } = await post(server, '/v1/agents/notes/messages', body)
  const route = `/v1/agents/notes/messages/${messageId}`
  const { status, response, input } = await get(server, route)
  console.log(`${message}\n  ${status}: ${response ?? input?.question.replaceAll('\n', '. ')}`)
  return route
}

/** Answers the question of a message as a person, and prints the agent's answer. */
async function decide(server: RunningServer, route: string, value: string): Promise<void> {
  const { input } = await get(server, route)
  await post(server, `${route}/input`, { inputId: input?.id, value })
  let message = await get(server, route)
  while (message.status === 'pending') {
    await delay(50)
    message = await get(server, route)
  }
  console.log(`${value}\n  ${message.status}: ${message.response}`)
}

const before = await start()
await post(before, '/v1/agents', {
  name: 'notes',
  runtime: { kind: 'acp', program: 'notes' },
})
await say(before, 'my cat is called Tom')
await before.stop()

const server = await start()
await say(server, 'what is my cat called?')
const forgetting = await say(server, 'forget it')
await decide(server, forgetting, 'Keep them')
await server.stop()
rmSync(folder, { recursive: true })
