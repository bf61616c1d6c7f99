// Calls the OpenAI endpoint of a server with the official client for Python. Needs Python and venv.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { exampleServer, KEY } from './example-server.mjs'

const CHECK = fileURLToPath(new URL('../checks/openai/', import.meta.url))
/** The agents, with the functions that run them. */
const HANDLERS = { thinking: 'think', failing: 'fail', echo: 'echo', slow: 'slowly' }
const work = mkdtempSync(path.join(tmpdir(), 'openai-check-'))

/** Answers in words. */
async function* slowly({ message }) {
  for (const word of message.split(/(?<= )/)) {
    await delay(200)
    yield word
  }
}

async function* think() {
  const call = { toolCallId: 'c1', toolName: 'look' }
  yield { type: 'reasoning-delta', id: 'r', text: 'Let me look.' }
  yield { type: 'tool-input-available', ...call, input: { at: 1 } }
  yield { type: 'tool-output-available', toolCallId: 'c1', output: 'cat' }
  yield 'A cat.'
}

const fail = () => Promise.reject(new Error('told to fail'))

const { server, api } = await exampleServer({
  endpoints: ['openai'],
  agents: { slowly, think, fail },
})
try {
  for (const [name, handler] of Object.entries(HANDLERS))
    await api('POST', '/v1/agents', {
      name,
      runtime: { kind: 'function', handler },
      maxAttempts: 1,
    })
  const python = path.join(work, 'bin/python')
  execFileSync('python3', ['-m', 'venv', work])
  const install = ['-m', 'pip', 'install', '--quiet', '-r', path.join(CHECK, 'requirements.txt')]
  execFileSync(python, install, { stdio: 'inherit' })
  const env = { ...process.env, BASE_URL: server.url, KEY }
  const child = spawn(python, [path.join(CHECK, 'main.py')], { env, stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
} finally {
  await server.stop()
  rmSync(work, { recursive: true })
}
