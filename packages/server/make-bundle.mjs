// Bundles the server and its threads into `bundle/`: a start that loads hundreds of modules takes
// twice as long. `bin/agent-messaging.js` and the benchmarks load the bundle.
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const server = fileURLToPath(new URL('.', import.meta.url))
const packages = path.dirname(path.resolve(server))
const folder = path.join(server, 'bundle')

/** The entries. Threads have the names that the sources pass to `new Worker`. */
const input = {
  cli: 'server/src/cli.ts',
  index: 'server/src/index.ts',
  'postgres-lease-keeper-thread': 'adapter-postgres/src/postgres-lease-keeper-thread.js',
  'sqlite-lease-keeper-thread': 'adapter-sqlite/src/sqlite-lease-keeper-thread.js',
  'webhook-thread-entry': 'adapter-outbound/src/webhooks/webhook-thread-entry.js',
}
/** `better-sqlite3` is native, and `pg` loads `pg-native` only where a user installed it. */
const external = ['better-sqlite3', 'pg-native']

/** The part of undici that the service uses. All of it costs 3 MiB and 40 ms at each start. */
const partOfUndici = (id) =>
  id.endsWith('/undici/index.js')
    ? `Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api'))
      exports.Client = require('./lib/dispatcher/client')
      exports.buildConnector = require('./lib/core/connect')
      exports.errors = require('./lib/core/errors')`
    : undefined

/** Makes the bundle if a source is newer. */
export async function ensureBundle() {
  if (!isFresh()) await makeBundle()
}

function isFresh() {
  const cli = path.join(folder, 'cli.js')
  if (!existsSync(cli)) return false
  const madeAt = statSync(cli).mtimeMs
  const inputs = readdirSync(packages).flatMap((name) =>
    filesBelow(path.join(packages, name, 'src')),
  )
  inputs.push(fileURLToPath(import.meta.url), path.join(packages, '../package-lock.json'))
  return inputs.every((file) => statSync(file).mtimeMs < madeAt)
}

const filesBelow = (place) =>
  existsSync(place)
    ? readdirSync(place, { recursive: true }).map((name) => path.join(place, name))
    : []

async function makeBundle() {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input,
    cwd: packages,
    platform: 'node',
    external,
    resolve: { conditionNames: ['@org/source', 'node'] },
    plugins: [{ name: 'part of undici', load: partOfUndici }],
    transform: { target: 'node22.19' },
  })
  const made = `${folder}-${process.pid}`
  const { output } = await bundle.write({
    dir: made,
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // V8 keeps the text, with two bytes for each character if one is not Latin.
    charset: 'ascii',
    comments: false,
    entryFileNames: '[name].js',
  })
  await bundle.close()
  writeFileSync(path.join(made, 'THIRD-PARTY-LICENSES.txt'), licencesOf(output))
  rmSync(folder, { recursive: true, force: true })
  renameSync(made, folder)
}

/** Returns the names, versions and licences of the packages in the bundle. */
function licencesOf(output) {
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds)
  const homes = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? [])
  return [...new Set(homes)]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map(licenceOf)
    .join(`\n${'-'.repeat(80)}\n\n`)
}

function licenceOf(home) {
  const manifest = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'))
  const file = readdirSync(home).find((name) => /^licen[cs]e/i.test(name))
  const text = file === undefined ? [] : ['', readFileSync(path.join(home, file), 'utf8').trim()]
  const heading = `${manifest.name} ${manifest.version}, licence ${manifest.license}`
  return [heading, ...text, ''].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureBundle()
