// Chats with the agents of a server through the AI SDK endpoint, with the official clients, in Node
// and in Chromium.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { exampleServer, KEY } from './example-server.mjs'
import { freePort } from './free-port.mjs'

const CHECK = fileURLToPath(new URL('../checks/ai-sdk/', import.meta.url))

/** Runs that wait until the check lets them go on, by session. */
const waiting = new Map()
const turn = (sessionId) => {
  const known = waiting.get(sessionId) ?? Promise.withResolvers()
  waiting.set(sessionId, known)
  return known
}
async function wait(sessionId) {
  await turn(sessionId).promise
  waiting.delete(sessionId)
}

const call = { toolCallId: 'c1', toolName: 'search' }

/** The functions of the agents, by the names of the agents. */
const agents = {
  support: ({ message }) => `You say: ${message}`,
  async *story({ sessionId }) {
    yield { type: 'reasoning-delta', id: 'r', text: 'A story.' }
    yield { type: 'tool-input-start', ...call }
    yield { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '{"for":' }
    yield { type: 'tool-input-delta', toolCallId: 'c1', inputTextDelta: '"plot"}' }
    yield { type: 'tool-input-available', ...call, input: { for: 'plot' } }
    yield { type: 'tool-output-available', toolCallId: 'c1', output: ['</script>'] }
    yield 'Once upon a time '
    await wait(sessionId)
    yield { type: 'data', name: 'mood', id: 'm', data: 'calm' }
    yield { type: 'file', url: 'https://files.example/a.png', mediaType: 'image/png' }
    yield { type: 'source-url', sourceId: 's', url: 'https://example.com' }
    yield { type: 'start-step' }
    yield 'there was an agent.'
  },
  'go-on': ({ sessionId }) => {
    turn(sessionId).resolve()
    return 'yes'
  },
  asking: async ({ ask }) => `Paid: ${await ask('Pay?', { options: ['yes', 'no'] })}`,
  failing: () => Promise.reject(new Error('told to fail')),
  async *restarting({ attempt, sessionId }) {
    if (attempt > 1) return yield 'Second try'
    yield 'First try'
    await wait(sessionId)
    throw Object.assign(new Error('once'), { retryable: true })
  },
}

async function run(command, args, env = process.env) {
  const [code] = await once(spawn(command, args, { stdio: 'inherit', env }), 'exit')
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
}

const pagePort = await freePort()
const { server, api } = await exampleServer({
  endpoints: ['ai-sdk'],
  agents,
  corsOrigins: [`http://127.0.0.1:${pagePort}`],
})
try {
  for (const name of Object.keys(agents)) {
    const runtime = { kind: 'function', handler: name }
    await api('POST', '/v1/agents', { name, runtime, maxAttempts: 2 })
  }
  await run('npm', ['ci', '--prefix', CHECK, '--ignore-scripts', '--loglevel=error'])
  const env = { ...process.env, BASE_URL: server.url, KEY, PAGE_PORT: `${pagePort}` }
  await run(process.execPath, [path.join(CHECK, 'main.mjs')], env)
} finally {
  await server.stop()
}
