// Builds the chat and runs it with the service and a model. Prints the address of the page.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createClient } from '@org/agent-messaging-client'
import { freePort } from '../../scripts/free-port.mjs'
import { startModel } from '../shared/model.mjs'
import { printed, startService } from '../shared/service.mjs'

const next = fileURLToPath(import.meta.resolve('next/dist/bin/next'))
const LIMIT_MS = 180_000

/** Starts everything, and calls `use` with the URL of the page. Stops everything after that. */
export async function withChat(use) {
  const [model, service, port] = [await startModel(), await startService(), await freePort()]
  const options = {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      MESSAGING_URL: service.url,
      MESSAGING_KEY: service.key,
      NEXT_TELEMETRY_DISABLED: '1',
    },
  }
  let app
  try {
    const client = createClient({ baseUrl: service.url, apiKey: service.key })
    const runtime = { kind: 'openai', baseUrl: model.url, model: 'plan' }
    await client.agents.create({ name: 'support', runtime })
    build(options)
    const args = [next, 'start', '--hostname', '127.0.0.1', '--port', `${port}`]
    app = spawn(process.execPath, args, options)
    await printed(app, 'Ready')
    return await use(`http://127.0.0.1:${port}`)
  } finally {
    if (app?.kill()) await once(app, 'exit')
    await Promise.all([service.stop(), model.close()])
  }
}

function build(options) {
  const { status, stdout } = spawnSync(process.execPath, [next, 'build'], {
    ...options,
    encoding: 'utf8',
    timeout: LIMIT_MS,
  })
  if (status !== 0) throw new Error(`next build failed\n${stdout}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await withChat(async (url) => {
    console.log(`Open ${url} in a browser. Press Ctrl-C to stop.`)
    await once(process, 'SIGINT')
  })
