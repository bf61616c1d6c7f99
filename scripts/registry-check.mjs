// Publishes all packages to a registry on this machine with scripts/release.mjs, and uses them from
// empty folders: the section "Without a clone" of the quick start with the port replaced, and both
// templates of `create`. Needs a built clone and a Node that needs no compiler.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from './free-port.mjs'
import { Programs, run } from './programs.mjs'

const VERDACCIO = {
  dependencies: { verdaccio: '6.10.4' },
  // verdaccio-audit asks for a tag, and not every registry has the tags of others.
  overrides: { 'verdaccio-audit': { 'node-fetch': '2.7.0' } },
}
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'registry-check-'))
const programs = new Programs()
const port = await freePort()
const registry = `http://127.0.0.1:${port}/`
// Packages of other scopes come from the registry of the user. The cache is new, because a version
// has other contents in each run.
const env = {
  ...process.env,
  npm_config_cache: path.join(folder, 'cache'),
  npm_config_globalconfig: path.join(folder, 'npmrc'),
  npm_config_registry: run(root, 'npm', ['config', 'get', 'registry']).trim(),
  npm_config_yes: 'true',
}
// Set by an `npx --package` around this script, for every npx inside it.
delete env.npm_config_package

try {
  await startRegistry()
  run(
    root,
    process.execPath,
    [
      'scripts/release.mjs',
      '--registry',
      registry,
      '--remote',
      'https://git.example/team/service.git',
      '--no-provenance',
    ],
    env,
  )
  await quickStart()
  await serverTemplate()
  embeddedTemplate()
} finally {
  await programs.endAll()
  rmSync(folder, { recursive: true, force: true })
}

async function startRegistry() {
  const config = path.join(folder, 'verdaccio.yaml')
  writeFileSync(
    config,
    [
      `storage: ${path.join(folder, 'storage')}`,
      'auth: { htpasswd: { file: ./htpasswd } }',
      "packages: { '@org/*': { access: $all, publish: $all } }",
      'log: { type: stdout, level: warn }',
    ].join('\n'),
  )
  // npm publishes only with a token, and this registry accepts any.
  writeFileSync(
    env.npm_config_globalconfig,
    `@org:registry=${registry}\n//127.0.0.1:${port}/:_authToken=local\n`,
  )
  const home = emptyFolder('verdaccio')
  writeFileSync(path.join(home, 'package.json'), JSON.stringify(VERDACCIO))
  run(home, 'npm', ['install', '--loglevel=error'], env)
  programs.start(home, `npx verdaccio --config ${config} --listen ${registry}`, env)
  await programs.until('the registry answers', async () => (await fetch(`${registry}-/ping`)).ok)
}

/** Runs the two commands of the page in an empty folder, on free ports. */
async function quickStart() {
  const page = readFileSync(path.join(root, 'docs/quick-start.md'), 'utf8')
  const [, section = ''] = page.split('## Without a clone\n')
  const [text] = section.split('\n## ')
  const [dev, listen] = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) =>
    block.trim(),
  )
  const home = emptyFolder('quick-start')
  const settings = { ...env, PORT: String(await freePort()) }
  const startedAt = performance.now()
  const server = programs.start(home, dev, settings)
  await programs.until('the server starts', () => server.printed.includes('listen --try'))
  const receiver = programs.start(home, listen, settings)
  await programs.until('a verified webhook', () => receiver.printed.includes('as delivered'))
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`From an empty folder to a verified webhook: ${seconds} s, by these two commands:`)
  console.log(`${dev}\n${listen}`)
}

async function serverTemplate() {
  const home = create('starter', [])
  const settings = { ...env, PORT: String(await freePort()) }
  const server = programs.start(home, 'npm start', settings)
  await programs.until('the starter project runs', () => /greeter \(running\)/.test(server.printed))
}

function embeddedTemplate() {
  const printed = run(
    create('embedded', ['--template', 'embedded']),
    'npm',
    ['start', '--silent'],
    env,
  )
  if (printed !== 'You said: Hello\n') throw new Error(`the embedded project printed ${printed}`)
}

/** Creates a project and installs its packages. */
function create(name, options) {
  const place = emptyFolder(`create-${name}`)
  run(place, 'npx', ['@org/agent-messaging-server', 'create', name, ...options], env)
  const home = path.join(place, name)
  run(home, 'npm', ['install', '--loglevel=error'], env)
  return home
}

function emptyFolder(name) {
  const place = path.join(folder, name)
  mkdirSync(place)
  return place
}
