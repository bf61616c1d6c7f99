// Runs the packed server with Bun and with Deno, on SQLite and on PostgreSQL: `dev`, a send, a
// webhook with a verified signature, a kill, a second start that has the message, and a stop.
// Runs the documented receiver for Workers, too, a program with `createMessaging`, and the example
// embed-in-bun-and-deno.
// Installs both runtimes from npm into a temporary folder. Needs a built clone.
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkHost } from '../examples/check-host.mjs'
import { signTestEvent } from '@org/agent-messaging-client/webhooks'
import { startPostgres } from '../packages/adapter-postgres/test/postgres-server.mjs'
import { freePort } from './free-port.mjs'
import { packInto } from './packed.mjs'
import { Programs, run } from './programs.mjs'

const RUNTIMES = { bun: '1.4.5', deno: '2.9.6' }
const COMMANDS = { bun: 'bun run --bun', deno: 'deno run --allow-all' }
const SERVE = { bun: 'bun run --bun', deno: 'deno serve --allow-all --host 127.0.0.1 --port $PORT' }
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'runtimes-check-'))
const programs = new Programs()
const env = {
  ...process.env,
  PATH: [path.join(folder, 'runtimes/node_modules/.bin'), process.env.PATH].join(path.delimiter),
}
let postgres

try {
  installRuntimes()
  const entry = installServer()
  for (const runtime of Object.keys(RUNTIMES)) {
    await tryReceiver(runtime)
    tryProgram(runtime)
    await tryHost(runtime)
    const command = `${COMMANDS[runtime]} ${entry}`
    await tryServer(`${runtime} on SQLite`, command, {})
    postgres = await startPostgres([])
    await tryServer(`${runtime} on PostgreSQL`, command, { SERVICE_DATABASE_URL: postgres.url })
    await postgres.stop()
    postgres = undefined
  }
} finally {
  await programs.endAll()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** Installs the runtimes. A script of each package puts the program of this platform in place. */
function installRuntimes() {
  const home = emptyFolder('runtimes')
  writeFileSync(path.join(home, 'package.json'), JSON.stringify({ dependencies: RUNTIMES }))
  run(home, 'npm', ['install', '--ignore-scripts=false', '--loglevel=error'])
}

/** Packs the packages and installs them with Bun. Returns the entry of the server. */
function installServer() {
  const home = emptyFolder('app')
  const files = packInto(path.join(folder, 'packed'))
  // The packages depend on each other by version, and are not published.
  const manifest = { private: true, dependencies: files, overrides: files }
  writeFileSync(path.join(home, 'package.json'), JSON.stringify(manifest))
  run(home, 'bun', ['install'], env)
  return path.join(home, 'node_modules/@org/agent-messaging-server/bin/agent-messaging.js')
}

async function tryServer(name, command, settings) {
  const home = emptyFolder(name)
  const port = await freePort()
  const environment = { ...env, PORT: String(port), ...settings }
  const serve = async () => {
    const server = programs.start(home, `exec ${command} dev`, environment)
    await programs.until(`${name} starts`, () => server.printed.includes('listen --try'))
    return server
  }
  const first = await serve()
  const receiver = programs.start(home, `exec ${command} listen --try`, environment)
  await programs.until(`${name} sends a webhook`, () => receiver.exitCode === 0)
  if (!receiver.printed.includes('signature valid')) throw new Error(receiver.printed)
  await programs.end(first, 'SIGKILL')

  const second = await serve()
  const key = readFileSync(path.join(home, 'data/api-key'), 'utf8').trim()
  const answer = await fetch(`http://127.0.0.1:${port}/v1/messages`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const states = (await answer.json()).data.map(({ state }) => state)
  if (states.join() !== 'responded')
    throw new Error(`${name}: after a kill, the messages were [${states}]`)
  const warnings = second.errors.length
  await programs.end(second, 'SIGTERM')
  const errors = second.errors.slice(warnings)
  if (second.exitCode !== 0 || errors !== '')
    throw new Error(`${name} ended with ${second.exitCode} on SIGTERM\n${errors}`)
  console.log(`${name}: send, webhook, kill, start, stop`)
}

/** Serves the receiver of docs/receiving.md for Workers, and sends it a signed event. */
async function tryReceiver(runtime) {
  const home = path.join(folder, 'app')
  copyFileSync(
    path.join(root, 'examples/receive-webhooks/worker.mjs'),
    path.join(home, 'worker.mjs'),
  )
  const port = await freePort()
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const environment = { ...env, PORT: String(port), WEBHOOK_SECRET: secret }
  const receiver = programs.start(home, `exec ${SERVE[runtime]} worker.mjs`, environment)
  const event = {
    event: 'webhook.test',
    id: '1',
    createdAt: '2026-01-01T00:00:00.000Z',
    data: { webhookId: 'w-1' },
  }
  const signed = await signTestEvent(event, secret)
  const post = () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', ...signed })
  await programs.until(`${runtime} receives`, async () => (await post()).status === 200)
  await programs.end(receiver, 'SIGTERM')
  if (!receiver.printed.includes('test of w-1')) throw new Error(receiver.printed)
  console.log(`${runtime}: the receiver for Workers`)
}

/** Runs a program with `createMessaging`, an HTTP agent and a webhook to its end. */
function tryProgram(runtime) {
  const home = path.join(folder, 'app')
  const name = 'one-call-program.mjs'
  copyFileSync(path.join(root, 'scripts', name), path.join(home, name))
  const printed = run(home, 'bash', ['-c', `exec ${COMMANDS[runtime]} ${name}`], env)
  const hello = 'You said: hello'
  if (printed !== `${hello}\nmessage.responded ${hello} signature valid\nstopped\n`)
    throw new Error(printed)
  console.log(`${runtime}: createMessaging with an HTTP agent, webhook, stop`)
}

async function tryHost(runtime) {
  const home = path.join(folder, 'app')
  const name = 'embed-in-bun-and-deno/server.js'
  copyFileSync(path.join(root, 'examples', name), path.join(home, 'server.js'))
  await checkHost(`${SERVE[runtime]} server.js`, { cwd: home, env })
}

function emptyFolder(name) {
  const place = path.join(folder, name.replaceAll(' ', '-'))
  mkdirSync(place)
  return place
}
