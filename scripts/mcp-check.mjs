// Runs the conformance tests of two revisions of MCP against a running server. Runs those of the
// extension Tasks, and a client of Tasks, against example tools. The tests send no API key, so a
// proxy adds it. The files in checks/mcp list the cases that need other tools.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { openTaskTools } from '../checks/mcp/task-tools.mjs'
import { exampleServer, KEY } from './example-server.mjs'

const PACKAGE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const REVISIONS = ['2025-11-25', '2026-07-28']
const TASK_SCENARIOS = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
]
const CHECKS = fileURLToPath(new URL('../checks/mcp/', import.meta.url))
const CLIENT = fileURLToPath(new URL('../checks/mcp-tasks/', import.meta.url))
const work = mkdtempSync(path.join(tmpdir(), 'mcp-check-'))

/** Forwards requests as they are, with the API key. */
async function openProxy(target, key) {
  const proxy = http.createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${key}` }
    const options = { method: request.method, path: request.url, headers }
    const forwarded = http.request(target, options, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: `http://127.0.0.1:${proxy.address().port}/mcp`,
    close() {
      proxy.closeAllConnections()
      proxy.close()
    },
  }
}

/** Runs the tests with each of the arguments, and prints their output one after another. */
async function conform({ url, expected, runs }) {
  const test = ['--yes', '--package', PACKAGE, '--', 'conformance', 'server', '--url', url]
  const args = [...test, '--expected-failures', path.join(CHECKS, expected)]
  await Promise.all(
    runs.map(async (run) => {
      const all = [...args, ...process.argv.slice(2), ...run]
      const child = spawn('npx', all, { cwd: work, stdio: ['ignore', 'pipe', 'inherit'] })
      const output = await text(child.stdout)
      process.stdout.write(output)
      if ((child.exitCode ?? (await once(child, 'exit'))[0]) !== 0) process.exitCode = 1
    }),
  )
}

async function run(command, args) {
  const [code] = await once(spawn(command, args, { stdio: 'inherit' }), 'exit')
  if (code !== 0) process.exitCode = 1
}

async function checkServer() {
  const { server, api } = await exampleServer({ endpoints: ['mcp'] })
  const proxy = await openProxy(server.url, KEY)
  try {
    const runtime = { kind: 'function', handler: 'echo' }
    await api('POST', '/v1/agents', { name: 'echo', runtime })
    const runs = REVISIONS.map((revision) => ['--requirements', revision])
    await conform({ url: proxy.url, expected: 'expected-failures.yml', runs })
  } finally {
    proxy.close()
    await server.stop()
  }
}

async function checkTasks() {
  const example = await openTaskTools()
  const proxy = await openProxy(example.url, example.key)
  try {
    const runs = TASK_SCENARIOS.map((scenario) => ['--scenario', scenario])
    await conform({ url: proxy.url, expected: 'expected-failures-of-tasks.yml', runs })
    await run('npm', ['ci', '--prefix', CLIENT, '--ignore-scripts', '--loglevel=error'])
    await run(process.execPath, [path.join(CLIENT, 'main.mjs'), proxy.url])
  } finally {
    proxy.close()
    await example.close()
  }
}

try {
  await checkServer()
  await checkTasks()
} finally {
  rmSync(work, { recursive: true })
}
