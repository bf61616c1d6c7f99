// Talks to an agent over ACP, restarts the server and the agent, and continues the conversation.
// The agent can read files, but not delete them.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
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
  permissions: { allow: ['read'] },
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

async function say(server: RunningServer, message: string): Promise<void> {
  const executionPrincipal = { type: 'end_user', endUserId: 'Ada' }
  const answer = await post(server, '/v1/agents/notes/messages', {
    sessionId: 'cats',
    message,
    executionPrincipal,
  })
  console.log(`${message}\n  ${answer['status']}: ${answer['response']}`)
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
await say(server, 'forget it')
await server.stop()
rmSync(folder, { recursive: true })
