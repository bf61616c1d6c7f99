// Runs the conformance tests of MCP against a running server. The tests send no API key, so a proxy
// adds it. checks/mcp/expected-failures.yml lists the cases that need tools of another server.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { exampleServer, KEY } from './example-server.mjs'

// The tests need Node 22.
const PACKAGES = ['--package', 'node@24', '--package', '@modelcontextprotocol/conformance@0.1.16']
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
  const test = ['--yes', ...PACKAGES, '--', 'conformance', 'server']
  const args = [...test, '--url', url, '--expected-failures', EXPECTED]
  const child = spawn('npx', [...args, ...process.argv.slice(2)], { cwd: work, stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
} finally {
  proxy.closeAllConnections()
  proxy.close()
  await server.stop()
  rmSync(work, { recursive: true })
}
