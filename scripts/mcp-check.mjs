// Runs the conformance tests of two revisions of MCP against a running server. The tests send no
// API key, so a proxy adds it. checks/mcp/expected-failures.yml lists the cases that need tools of
// another server.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { exampleServer, KEY } from './example-server.mjs'

const PACKAGE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const REVISIONS = ['2025-11-25', '2026-07-28']
const EXPECTED = fileURLToPath(new URL('../checks/mcp/expected-failures.yml', import.meta.url))

/** Forwards requests as they are, with the API key. */
async function openProxy(target) {
  const proxy = http.createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${KEY}` }
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
  return proxy
}

const work = mkdtempSync(path.join(tmpdir(), 'mcp-check-'))
const { server, api } = await exampleServer({ endpoints: ['mcp'] })
const proxy = await openProxy(server.url)
try {
  await api('POST', '/v1/agents', { name: 'echo', runtime: { kind: 'function', handler: 'echo' } })
  const url = `http://127.0.0.1:${proxy.address().port}/mcp`
  const test = ['--yes', '--package', PACKAGE, '--', 'conformance', 'server']
  const args = [...test, '--url', url, '--expected-failures', EXPECTED, ...process.argv.slice(2)]
  for (const revision of REVISIONS) {
    const ofRevision = [...args, '--requirements', revision]
    const child = spawn('npx', ofRevision, { cwd: work, stdio: 'inherit' })
    const [code] = await once(child, 'exit')
    if (code !== 0) process.exitCode = 1
  }
} finally {
  proxy.closeAllConnections()
  proxy.close()
  await server.stop()
  rmSync(work, { recursive: true })
}
