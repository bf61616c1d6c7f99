// Checks the OpenAPI document of a server with the tools of others:
//
//   node scripts/openapi-check.mjs lint|typescript|python|go|schemathesis…
//
// `go` needs Go, and `python` and `schemathesis` need Python with venv. The check of a language
// makes a client, compiles it, and runs the program of `checks/openapi` that calls the server.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createServer } from '@org/agent-messaging-server'

const CHECKS = fileURLToPath(new URL('../checks/openapi/', import.meta.url))
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

const checks = { lint, typescript, python, go, schemathesis }

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
  const made = ['openapi-typescript', 'openapi.json', '-o', 'agent-messaging.d.ts']
  await run({ cwd }, 'npx', ...made)
  await run({ cwd }, 'npx', 'tsc')
  assert.equal(await run({ cwd, env }, process.execPath, 'main.js'), EXPECTED)
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
    // Schemathesis waits 10 s for an answer.
    policy: { syncWaitMs: 1_000 },
    openMetrics: true,
  })
  try {
    if (name !== 'lint') cpSync(path.join(CHECKS, name), cwd, { recursive: true })
    const document = await (await fetch(`${server.url}/openapi.json`)).text()
    writeFileSync(path.join(cwd, 'openapi.json'), document)
    const since = Date.now()
    await checks[name]({ cwd, env: { BASE_URL: server.url, KEY } })
    console.log(`${name}: ${Math.round((Date.now() - since) / 1_000)} s`)
  } finally {
    await server.stop()
    rmSync(cwd, { recursive: true, force: true })
  }
}

const wanted = process.argv.slice(2)
if (wanted.length === 0 || wanted.some((name) => !(name in checks)))
  throw new Error(`usage: node scripts/openapi-check.mjs ${Object.keys(checks).join('|')}`)
for (const name of wanted) await check(name)
