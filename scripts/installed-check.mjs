// Installs the packed packages into an empty folder, without the optional ones. Checks the sizes of
// the installation and of a bundle, the types, and the errors that name an optional package.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { installEmbedded } from './packed.mjs'
import { run } from './programs.mjs'

const PROGRAM = `
import { createMessaging, type MessagingError } from '@org/agent-messaging-node'

const messaging = await createMessaging({
  database: ':memory:',
  agents: { shouter: ({ message }) => message.toUpperCase() },
  programs: { editor: { command: 'editor' } },
})
const { fetch } = await messaging.http()
const { status } = await fetch(new Request('http://127.0.0.1/healthz'))
console.log(await messaging.ask('shouter', 'hello'), status)
const refused = ({ kind, message }: MessagingError) => console.log(kind, message)
const editor = { kind: 'acp', program: 'editor' }
await messaging.agents.create({ name: 'editor', runtime: editor }).catch(refused)
const remote = { kind: 'a2a', url: 'https://agent.example/' }
await messaging.agents.create({ name: 'remote', runtime: remote }).catch(refused)
await messaging.stop()
`
const PRINTED = `HELLO 200
invalid runtime needs the package @agentclientprotocol/sdk: npm install @agentclientprotocol/sdk
invalid runtime needs the package @a2a-js/sdk: npm install @a2a-js/sdk
`

const folder = mkdtempSync(path.join(tmpdir(), 'installed-check-'))
try {
  const home = installEmbedded(folder, {})
  const driver = sizeOf(home, 'better-sqlite3', 'node-addon-api')
  atMost(4, 'MB', 'core', sizeOf(home, '@org/agent-messaging-core'))
  atMost(30, 'MB', 'node with HTTP, beside the SQLite driver', sizeOf(home, '.') - driver)
  atMost(87, 'kB', 'a bundle of createService and functionRuntime', await bundledSize(home))
  writeFileSync(path.join(home, 'main.ts'), PROGRAM)
  checkTypes(home)
  assert.equal(run(home, process.execPath, ['main.ts']), PRINTED)
} finally {
  rmSync(folder, { recursive: true })
}

function atMost(most, unit, name, size) {
  console.log(`${name}: ${size.toFixed(1)} of ${most} ${unit}`)
  assert.ok(size <= most, `${name}: more than ${most} ${unit}`)
}

/** Returns the size of installed packages in MB. */
function sizeOf(home, ...names) {
  const output = run(path.join(home, 'node_modules'), 'du', ['-ck', ...names])
  const [, kilobytes] = /(\d+)\ttotal$/.exec(output.trim())
  return kilobytes / 1024
}

/** Returns the size in kB of all code that a host loads, minified and gzipped. */
async function bundledSize(home) {
  const input = path.join(home, 'bundled.mjs')
  writeFileSync(input, "export { createService, functionRuntime } from '@org/agent-messaging-core'")
  const bundle = await rolldown({ input, platform: 'node' })
  const { output } = await bundle.generate({ minify: true })
  return output.reduce((sum, { code }) => sum + gzipSync(code).length, 0) / 1000
}

/** Checks the program and all types that the packages export. */
function checkTypes(home) {
  const compilerOptions = {
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ['node'],
  }
  const config = { compilerOptions, files: ['main.ts'] }
  writeFileSync(path.join(home, 'tsconfig.json'), JSON.stringify(config))
  run(home, fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url)), [])
}
