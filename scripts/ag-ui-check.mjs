// Calls the AG-UI endpoint of a server with the client of AG-UI in Node and in Chromium, and with a
// validator of its streams. The clients send no API key, so a proxy adds it. Needs Python 3.11 with
// venv, and Chromium.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { agents, openGate } from '../checks/ag-ui/agents.mjs'
import { chromiumOptions, chromiumPath } from './chromium.mjs'
import { exampleServer, KEY } from './example-server.mjs'

const CHECK = fileURLToPath(new URL('../checks/ag-ui/', import.meta.url))
const LIMIT_MS = 30_000
const work = mkdtempSync(path.join(tmpdir(), 'ag-ui-check-'))

/** Forwards requests with the API key, and serves the page of a chat. */
async function openProxy(target, script) {
  const proxy = http.createServer((request, response) => {
    if (request.url === '/page.js') return response.end(readFileSync(script))
    if (request.url === '/') {
      response.setHeader('content-type', 'text/html')
      return response.end('<!doctype html><body></body><script src="/page.js"></script>')
    }
    const headers = { ...request.headers, authorization: `Bearer ${KEY}` }
    const options = { method: request.method, headers }
    const forwarded = http.request(target + request.url, options, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    request.pipe(forwarded)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    close() {
      proxy.closeAllConnections()
      proxy.close()
    },
  }
}

async function run(command, args, env = {}) {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  const [code] = await once(child, 'exit')
  if (code !== 0) process.exitCode = 1
}

/** Reloads the page in the middle of an answer. The page has the beginning at once, and the end. */
async function checkReload(url) {
  const browser = await chromium.launch(chromiumOptions())
  try {
    const page = await browser.newPage()
    const texts = () => page.locator('p').allTextContents()
    const shows = (text) => page.getByText(text).last().waitFor({ timeout: LIMIT_MS })
    await page.goto(`${url}/#thread-of-a-page`)
    await shows('The run is over.')
    await page.evaluate(() => globalThis.send('Hello'))
    await shows('assistant: The beginning.')
    await page.reload()
    await shows('assistant: The beginning.')
    assert.deepEqual(await texts(), ['user: Hello', 'assistant: The beginning.'])
    openGate()
    await shows('The run is over.')
    assert.deepEqual(await texts(), ['user: Hello', 'assistant: The beginning. The end.'])
  } finally {
    await browser.close()
  }
  console.log('A page that was reloaded shows the beginning of the answer, and its end.')
}

const { server, api } = await exampleServer({ endpoints: ['ag-ui'], agents })
try {
  for (const name of Object.keys(agents))
    await api('POST', '/v1/agents', {
      name,
      runtime: { kind: 'function', handler: name },
      maxAttempts: 1,
    })
  await run('npm', ['ci', '--prefix', CHECK, '--ignore-scripts', '--loglevel=error'])
  const script = path.join(work, 'page.js')
  const bundle = [path.join(CHECK, 'page.mjs'), '--bundle', `--outfile=${script}`]
  await run(path.join(CHECK, 'node_modules/.bin/esbuild'), [...bundle, '--log-level=warning'])
  const proxy = await openProxy(server.url, script)
  try {
    const url = `${proxy.url}/ag-ui/v1`
    await run(process.execPath, [path.join(CHECK, 'main.mjs'), url])
    await run(process.execPath, [path.join(CHECK, 'ask.mjs')], {
      BASE_URL: server.url,
      KEY,
      AGENT: 'asking',
    })
    if (chromiumPath()) await checkReload(proxy.url)
    else if (process.env.CI_STRICT === '1') throw new Error('Chromium is missing.')
    else console.log('The page was not checked: Chromium is missing.')

    execFileSync('python3', ['-m', 'venv', work])
    const requirements = path.join(CHECK, 'requirements.txt')
    await run(path.join(work, 'bin/pip'), ['install', '--quiet', '-r', requirements])
    const validator = path.join(work, 'bin/ag-ui-validate')
    for (const name of ['rich', 'asking', 'failing', 'rich/connect'])
      await run(validator, ['--fail-on', 'warning', `${url}/${name}`])
  } finally {
    proxy.close()
  }
} finally {
  await server.stop()
  rmSync(work, { recursive: true })
}
