// Runs the packed server with Bun and with Deno, on SQLite and on PostgreSQL: `dev`, a send, a
// webhook with a verified signature, a kill, a second start that has the message, and a stop.
// Installs both runtimes from npm into a temporary folder. Needs a built clone.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../packages/adapter-postgres/test/postgres-server.mjs'
import { freePort } from './free-port.mjs'
import { Programs, run } from './programs.mjs'

const RUNTIMES = { bun: '1.4.5', deno: '2.9.6' }
const COMMANDS = { bun: 'bun run --bun', deno: 'deno run --allow-all' }
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

/** Packs all packages and installs them with Bun. Returns the entry of the server. */
function installServer() {
  const packed = emptyFolder('packed')
  const home = emptyFolder('app')
  const workspaces = readdirSync(path.join(root, 'packages')).flatMap((name) => [
    '--workspace',
    `packages/${name}`,
  ])
  const output = run(root, 'npm', ['pack', '--json', '--pack-destination', packed, ...workspaces])
  const files = Object.fromEntries(
    Object.values(JSON.parse(output)).map(({ name, filename }) => [
      name,
      `file:${path.join(packed, filename)}`,
    ]),
  )
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

function emptyFolder(name) {
  const place = path.join(folder, name.replaceAll(' ', '-'))
  mkdirSync(place)
  return place
}
