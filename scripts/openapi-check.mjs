// Checks the OpenAPI document of a server with the tools of others:
//
//   node scripts/openapi-check.mjs lint|typescript|python|go|schemathesis|generator-java…
//
// `go` needs Go, and `python` and `schemathesis` need Python with venv. The check of a language
// makes a client, compiles it, and runs the program of `checks/openapi` that calls the server. The
// checks `generator-…` do the same with OpenAPI Generator, which needs Java 17 and Maven.
//
// The check `typescript` also fails if the types of our client are not current. With `--write` it
// writes them.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createServer } from '@org/agent-messaging-server'

const CHECKS = fileURLToPath(new URL('../checks/openapi/', import.meta.url))
const CONFIG = fileURLToPath(new URL('../.oxfmtrc.jsonc', import.meta.url))
const isWriting = process.argv.includes('--write')
const KEY = 'the-api-key-of-this-check'
const OPERATOR_KEY = 'the-operator-key-of-this-check'
const EXPECTED = 'Hello\nu-17\nNOT_FOUND\n'
const REDOCLY = '@redocly/cli@2.77.0'
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'

/** The excluded operation could revoke the key of the check. */
const SCHEMATHESIS =
  '--seed=1 --phases=examples,coverage,fuzzing --continue-on-failure --no-shrink ' +
  '--exclude-checks=positive_data_acceptance --exclude-operation-id=revokeKey --no-color ' +
  '--generation-database=none'

/** The operations that need the operator's key. */
const OPERATOR_PATHS = '^/v1/(projects|operator)'

const GENERATOR = 'openapi-generator-cli:7.25.0'
const MAVEN = ['-q', '-B', '-ntp']
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
const WITHOUT_TESTS = 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false'

const checks = {
  lint,
  typescript,
  python,
  go,
  schemathesis,
  'generator-java': generatorJava,
  'generator-go': generatorGo,
  'generator-python': generatorPython,
  'generator-typescript': generatorTypescript,
}

/** Runs a command to its end. Returns its standard output. */
function run({ cwd, env = {} }, command, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) return resolve(output)
      process.stdout.write(output)
      reject(new Error(`${command} ${args.join(' ')}: exit ${code}`))
    })
  })
}

async function lint({ cwd }) {
  const config = ['--config', path.join(CHECKS, 'redocly.yaml'), '--format', 'json']
  const report = await run({ cwd }, 'npx', '--yes', REDOCLY, 'lint', 'openapi.json', ...config)
  const { totals } = JSON.parse(report.slice(report.indexOf('{')))
  assert.deepEqual([totals.errors, totals.warnings], [0, 0], report)
}

async function typescript({ cwd, env }) {
  await run({ cwd }, 'npm', 'ci', '--ignore-scripts', '--loglevel=error')
  await typesOfTheClient(cwd)
  const made = ['openapi-typescript', 'openapi.json', '-o', 'agent-messaging.d.ts']
  await run({ cwd }, 'npx', ...made)
  await run({ cwd }, 'npx', 'tsc')
  assert.equal(await run({ cwd, env }, process.execPath, 'main.js'), EXPECTED)
}

const TYPES = fileURLToPath(new URL('../packages/client/src/api.generated.ts', import.meta.url))
const GENERATED = `// Made by: node scripts/openapi-check.mjs typescript --write
import type { Json, JsonObject } from './webhooks/json.js'
`

/** Makes the types of our client of the schemas alone. */
async function typesOfTheClient(cwd) {
  const { openapi, info, components } = JSON.parse(
    readFileSync(path.join(cwd, 'openapi.json'), 'utf8'),
  )
  const { schemas } = components
  const condition = ['Equals', 'Exists', 'Prefix', 'Range'].map((name) => ({
    $ref: `#/components/schemas/${name}Condition`,
  }))
  Object.assign(schemas, {
    // Later versions have other events, and a host has other runtimes.
    Subscription: { type: 'string' },
    EventType: { type: 'string' },
    Runtime: schemas.ShownRuntime,
    FilterCondition: { oneOf: condition },
  })
  const document = { openapi, info, paths: {}, components: { schemas } }
  writeFileSync(path.join(cwd, 'schemas.json'), JSON.stringify(document))
  const options = [
    '--immutable',
    '--empty-objects-unknown',
    '--default-non-nullable=false',
    '-o',
    'types.ts',
  ]
  await run({ cwd }, 'npx', 'openapi-typescript', 'schemas.json', ...options)
  const types = path.join(cwd, 'types.ts')
  const made = readFileSync(types, 'utf8')
    .replaceAll('Record<string, unknown>', 'JsonObject')
    .replaceAll(': unknown;', ': Json;')
    .replaceAll(/^export type .*\n/gm, '')
  writeFileSync(types, GENERATED + made)
  await run({ cwd: path.dirname(CHECKS) }, 'npx', 'oxfmt', '-c', CONFIG, types)
  if (isWriting) cpSync(types, TYPES)
  assert.equal(readFileSync(types, 'utf8'), readFileSync(TYPES, 'utf8'), `${TYPES} is not current`)
  rmSync(types)
}

async function python({ cwd, env }) {
  const bin = await venv({ cwd })
  const paths = { PATH: `${bin}${path.delimiter}${process.env.PATH}` }
  const options = ['--path', 'openapi.json', '--meta', 'none', '--fail-on-warning']
  const made = ['generate', ...options, '--output-path', 'agent_messaging']
  await run({ cwd, env: paths }, 'openapi-python-client', ...made)
  await run({ cwd }, path.join(bin, 'mypy'), '--follow-imports=silent', 'main.py')
  assert.equal(await run({ cwd, env }, path.join(bin, 'python'), 'main.py'), EXPECTED)
}

async function go({ cwd, env }) {
  mkdirSync(path.join(cwd, 'messaging'))
  const made = ['-generate', 'types,client', '-package', 'messaging', '-o', 'messaging/client.go']
  await run({ cwd }, 'go', 'run', OAPI_CODEGEN, ...made, 'openapi.json')
  await run({ cwd }, 'go', 'vet', './...')
  assert.equal(await run({ cwd, env }, 'go', 'run', '.'), EXPECTED)
}

/**
 * Tries each operation with legal and illegal requests for a bounded time. Legal requests can be
 * refused by rules that a schema cannot express, such as the names of handlers.
 */
async function schemathesis({ cwd, env }) {
  const bin = await venv({ cwd })
  const tryAll = async (key, ...options) => {
    const report = await run(
      { cwd, env: { SCHEMATHESIS_HOOKS: 'hooks' } },
      path.join(bin, 'schemathesis'),
      'run',
      'openapi.json',
      ...SCHEMATHESIS.split(' '),
      ...options,
      `--url=${env.BASE_URL}`,
      `--header=Authorization: Bearer ${key}`,
    )
    process.stdout.write(report.slice(report.lastIndexOf('SUMMARY')))
  }
  await tryAll(KEY, '--max-time=75', `--exclude-path-regex=${OPERATOR_PATHS}`)
  await tryAll(OPERATOR_KEY, '--max-time=20', `--include-path-regex=${OPERATOR_PATHS}`)
}

async function generatorJava({ cwd, env }) {
  const packages = ['invoker', 'api', 'model'].map(
    (of) => `${of}Package=com.example.messaging${of === 'invoker' ? '' : `.${of}`}`,
  )
  await generate({ cwd }, 'java', ['library=native', ...packages])
  cpSync(path.join(cwd, 'Main.java'), path.join(cwd, 'client/src/main/java/Main.java'))
  const without = ['-DskipTests', '-Dmaven.javadoc.skip=true', '-Dmaven.source.skip=true']
  await run({ cwd: path.join(cwd, 'client') }, 'mvn', ...MAVEN, ...without, 'package')
  const classes = 'client/target/classes:client/target/lib/*'
  assert.equal(await run({ cwd, env }, 'java', '-cp', classes, 'Main'), 'Hello\n')
}

/** `NewAgent` is also the name of the function that makes an `Agent`. */
async function generatorGo({ cwd, env }) {
  const { components } = JSON.parse(readFileSync(path.join(cwd, 'openapi.json'), 'utf8'))
  const clashing = Object.keys(components.schemas).filter(
    (name) => `New${name}` in components.schemas,
  )
  const names = clashing.map((name) => `New${name}=${name}Creation`).join(',')
  const options = ['enumClassPrefix=true', 'packageName=messaging', 'withGoMod=false']
  await generate({ cwd }, 'go', options, '--model-name-mappings', names)
  renameSync(path.join(cwd, 'client'), path.join(cwd, 'messaging'))
  await run({ cwd }, 'go', 'vet', './...')
  assert.equal(await run({ cwd, env }, 'go', 'run', '.'), 'Hello\n')
}

async function generatorPython({ cwd, env }) {
  await generate({ cwd }, 'python', ['packageName=agent_messaging'])
  cpSync(path.join(cwd, 'client'), cwd, { recursive: true })
  const bin = await venv({ cwd })
  await run({ cwd }, path.join(bin, 'python'), '-m', 'compileall', '-q', 'agent_messaging')
  assert.equal(await run({ cwd, env }, path.join(bin, 'python'), 'main.py'), 'Hello\n')
}

async function generatorTypescript({ cwd, env }) {
  await generate({ cwd }, 'typescript-fetch', [])
  for (const file of ['package.json', 'package-lock.json'])
    cpSync(path.join(CHECKS, 'typescript', file), path.join(cwd, file))
  await run({ cwd }, 'npm', 'ci', '--ignore-scripts', '--loglevel=error')
  const target = ['--target', 'es2022', '--module', 'commonjs', '--moduleResolution', 'node10']
  await run({ cwd }, 'npx', 'tsc', '--strict', ...target, '--outDir', 'out', 'main.ts')
  writeFileSync(path.join(cwd, 'out/package.json'), '{ "type": "commonjs" }')
  assert.equal(await run({ cwd, env }, process.execPath, 'out/main.js'), 'Hello\n')
}

/** Makes a client in the folder `client`. */
async function generate({ cwd }, language, properties, ...options) {
  const [name, version] = GENERATOR.split(':')
  const artifact = `-Dartifact=org.openapitools:${GENERATOR}`
  await run({ cwd }, 'mvn', ...MAVEN, COPY, artifact, '-DoutputDirectory=.')
  const made = ['generate', '-i', 'openapi.json', '-g', language, '-o', 'client']
  const all = ['--global-property', WITHOUT_TESTS, '--additional-properties', properties.join(',')]
  await run({ cwd }, 'java', '-jar', `${name}-${version}.jar`, ...made, ...all, ...options)
}

/** Installs the packages of `requirements.txt`. Returns the folder of their programs. */
async function venv({ cwd }) {
  const bin = path.join(cwd, 'venv/bin')
  await run({ cwd }, 'python3', '-m', 'venv', 'venv')
  const packages = ['--disable-pip-version-check', '-r', 'requirements.txt']
  await run({ cwd }, path.join(bin, 'python'), '-m', 'pip', 'install', '--quiet', ...packages)
  return bin
}

async function check(name) {
  const cwd = mkdtempSync(path.join(tmpdir(), `openapi-${name}-`))
  const server = await createServer({
    port: 0,
    databasePath: ':memory:',
    masterKey: randomBytes(32),
    bootstrapApiKey: KEY,
    operatorKey: OPERATOR_KEY,
    cronSecret: KEY,
    trustedProxies: ['127.0.0.0/8'],
    // Schemathesis waits 10 s for an answer. The programs expect the answer of the agent.
    policy: { syncWaitMs: name === 'schemathesis' ? 1_000 : 30_000 },
    openMetrics: true,
  })
  try {
    if (name !== 'lint') cpSync(path.join(CHECKS, name), cwd, { recursive: true })
    const query = name.startsWith('generator-') ? '?webhooks=false' : ''
    const document = await (await fetch(`${server.url}/openapi.json${query}`)).text()
    writeFileSync(path.join(cwd, 'openapi.json'), document)
    const since = Date.now()
    if (query) await createAgent(server.url)
    await checks[name]({ cwd, env: { BASE_URL: server.url, KEY } })
    console.log(`${name}: ${Math.round((Date.now() - since) / 1_000)} s`)
  } finally {
    await server.stop()
    rmSync(cwd, { recursive: true, force: true })
  }
}

/** Creates the agent that the programs of generated clients send to. */
async function createAgent(url) {
  const answer = await fetch(`${url}/v1/agents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'echo', runtime: { kind: 'function', handler: 'echo' } }),
  })
  assert.equal(answer.status, 201)
}

const wanted = process.argv.slice(2).filter((word) => word !== '--write')
if (wanted.length === 0 || wanted.some((name) => !(name in checks)))
  throw new Error(`usage: node scripts/openapi-check.mjs ${Object.keys(checks).join('|')}`)
for (const name of wanted) await check(name)
