// Builds the app with Next.js, runs it, and checks its answers and its end. Installs Next.js below
// build/, so that `npm ci` in this repository does not download it. Then builds and runs an app
// with `createMessaging` in a temporary folder, because this repository contains `pg`.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { freePort } from '../../scripts/free-port.mjs'
import { installEmbedded } from '../../scripts/packed.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const app = path.join(here, 'build/app')
const modules = path.join(app, 'node_modules')
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(path.join(here, 'package.json'), 'utf8'),
)
const EXAMPLE_KEY = 'the-api-key-of-the-check'
const env = {
  ...process.env,
  EXAMPLE_KEY,
  DATA: path.join(here, 'build/data'),
  NEXT_TELEMETRY_DISABLED: '1',
  NEXT_MANUAL_SIG_HANDLE: 'true',
}
const LIMIT_MS = 180_000
/** From the folder of an app. */
const NEXT = 'node_modules/next/dist/bin/next'

rmSync(env.DATA, { recursive: true, force: true })
copyApp()
run(process.execPath, [NEXT, 'build'])
checkSecondStart()
for (const signal of ['SIGTERM', 'SIGINT']) await checkServer(signal)
await checkWithoutPg()
console.log(
  'The app serves its routes and the routes of the service, and stops on a signal. It builds without pg.',
)

function copyApp() {
  mkdirSync(app, { recursive: true })
  rmSync(path.join(app, '.next'), { recursive: true, force: true })
  for (const part of ['app', 'lib', 'instrumentation.js', 'next.config.js'])
    cpSync(path.join(here, part), path.join(app, part), { recursive: true })
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: peerDependencies })
  const place = path.join(app, 'package.json')
  if (!existsSync(place) || readFileSync(place, 'utf8') !== manifest) {
    writeFileSync(place, manifest)
    run('npm', ['install', '--ignore-scripts', '--no-package-lock', '--loglevel=error'])
  }
  // Next.js would bundle linked packages, because they are outside of node_modules.
  for (const name of Object.keys(dependencies)) {
    const home = realpathSync(path.join(here, '../../node_modules', name))
    rmSync(path.join(modules, name), { recursive: true, force: true })
    const parts = ['package.json', 'dist', 'node-floor.js']
    for (const part of parts.filter((each) => existsSync(path.join(home, each))))
      cpSync(path.join(home, part), path.join(modules, name, part), { recursive: true })
  }
}

function run(command, args, cwd = app) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    timeout: LIMIT_MS,
  })
  assert.equal(
    status,
    0,
    `${command} ${args.join(' ')}: ${error?.message ?? ''}\n${stdout}${stderr}`,
  )
}

/** Checks that a call after a failed start starts the service. */
function checkSecondStart() {
  const lines = [
    `import { messaging } from ${JSON.stringify(pathToFileURL(path.join(here, 'lib/messaging.js')).href)}`,
    "process.env.EXAMPLE_KEY = 'too short'",
    'const failed = await messaging().then(() => false, () => true)',
    `process.env.EXAMPLE_KEY = '${EXAMPLE_KEY}'`,
    "const { status } = await (await messaging()).request('/healthz')",
    'process.exit(failed && status === 200 ? 0 : 1)',
  ]
  run(process.execPath, ['--input-type=module', '--eval', lines.join('\n')])
}

async function checkServer(signal) {
  await withServer(app, async (base, server) => {
    assert.equal(await (await fetch(base)).text(), 'a page of the host')
    const response = await fetch(`${base}/v1/agents/greeter/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${EXAMPLE_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sessionId: 's1', message: 'ada' }),
    })
    const { status, response: answer } = await response.json()
    assert.deepEqual([response.status, status, answer], [200, 'responded', 'Hello ada'])
    assert.equal((await fetch(`${base}/v1/agents/greeter/messages`)).status, 401)
    const ended = once(server, 'close')
    server.kill(signal)
    assert.deepEqual(await ended, [0, null])
    assert.match(server.printed, /the service has stopped/)
  })
}

/** Checks that an app with `createMessaging` and the documented configuration needs no `pg`. */
async function checkWithoutPg() {
  const folder = mkdtempSync(path.join(tmpdir(), 'embed-in-next-'))
  try {
    const home = installEmbedded(folder, peerDependencies)
    cpSync(path.join(here, 'one-call'), home, { recursive: true })
    cpSync(path.join(here, 'next.config.js'), path.join(home, 'next.config.js'))
    run(process.execPath, [NEXT, 'build'], home)
    await withServer(home, async (base) =>
      assert.deepEqual(await (await fetch(base)).json(), [
        'HELLO!',
        'a PostgreSQL database needs the package pg: npm install pg',
      ]),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs the server of an app while `use` runs. */
async function withServer(cwd, use) {
  const port = String(await freePort())
  const server = spawn(
    process.execPath,
    [NEXT, 'start', '--hostname', '127.0.0.1', '--port', port],
    { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  server.printed = ''
  server.stdout.setEncoding('utf8').on('data', (text) => (server.printed += text))
  try {
    await until(() => server.printed.includes('Ready'))
    await use(`http://127.0.0.1:${port}`, server)
  } catch (error) {
    console.error(server.printed)
    throw error
  } finally {
    server.kill('SIGKILL')
  }
}

async function until(isTrue) {
  const end = Date.now() + LIMIT_MS
  while (!isTrue()) {
    assert.ok(Date.now() < end, 'the server is not ready')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
