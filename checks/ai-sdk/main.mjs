// Chats with the agents of a server, with the clients of AI SDK 6 and 7.
// BASE_URL and KEY name the server. Without Chromium, the pages are not checked.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import * as ai6 from 'ai-6'
import * as ai7 from 'ai-7'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { chromiumOptions, chromiumPath } from '../../scripts/chromium.mjs'
import { GET, POST } from './app/route.js'

const { BASE_URL, KEY } = process.env
process.env.CHAT_URL = `${BASE_URL}/ai-sdk/v1/support`
const LIMIT_MS = 30_000
const VERSIONS = [
  { version: 6, ai: ai6, aliases: { ai: 'ai-6', '@ai-sdk/react': 'ai-sdk-react-3' } },
  { version: 7, ai: ai7, aliases: { ai: 'ai-7', '@ai-sdk/react': 'ai-sdk-react-4' } },
]

async function call(method, path, body) {
  const response = await fetch(BASE_URL + path, {
    method,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  assert.ok(response.ok, `${method} ${path}: ${response.status}`)
  return response.status === 204 ? undefined : response.json()
}

/** Lets the agent of a session go on. */
const goOn = (sessionId) => call('POST', '/v1/agents/go-on/messages', { sessionId, message: '-' })

const said = (id, text) => ({ id, role: 'user', parts: [{ type: 'text', text }] })

/** Reads the whole answer as the client puts it together. */
async function answerOf(ai, stream) {
  let message
  for await (const one of ai.readUIMessageStream({ stream, terminateOnError: true })) message = one
  return message
}

async function checkTransport({ ai, version }) {
  const api = `${BASE_URL}/ai-sdk/v1/story`
  const transport = new ai.DefaultChatTransport({
    api,
    headers: { authorization: `Bearer ${KEY}` },
  })
  const chatId = `node-${version}`
  const messages = [said('m-1', 'Tell me')]
  const send = () => transport.sendMessages({ chatId, messages, trigger: 'submit-message' })
  const sent = await send()
  const resumed = await transport.reconnectToStream({ chatId })
  await goOn(chatId)
  const [answer, replayed] = await Promise.all([answerOf(ai, sent), answerOf(ai, resumed)])
  assert.deepEqual(replayed, answer)
  const types = ['reasoning', 'dynamic-tool', 'text', 'data-mood', 'file', 'source-url']
  assert.deepEqual(
    answer.parts.map(({ type }) => type),
    [...types, 'step-start', 'text'],
  )
  const [, { state, input, output }] = answer.parts
  assert.deepEqual([state, input, output], ['output-available', { for: 'plot' }, ['</script>']])
  assert.equal(await transport.reconnectToStream({ chatId }), null)

  const stored = await call('GET', `/ai-sdk/v1/story/${chatId}/messages`)
  assert.deepEqual(await ai.validateUIMessages({ messages: stored }), stored)
  assert.deepEqual(stored[0], messages[0])
  assert.equal(stored[1].id, answer.id)
  assert.deepEqual(
    stored[1].parts.map(({ type }) => type),
    answer.parts.map(({ type }) => type),
  )
  assert.equal((await answerOf(ai, await send())).id, answer.id)

  const failing = new ai.DefaultChatTransport({
    api: `${BASE_URL}/ai-sdk/v1/failing`,
    headers: { authorization: `Bearer ${KEY}` },
  })
  const failed = await failing.sendMessages({ chatId, messages, trigger: 'submit-message' })
  await assert.rejects(answerOf(ai, failed), /RUNTIME_ERROR: told to fail/)
  const parts = [
    { type: 'file', mediaType: 'text/plain', url: 'data:text/plain,Hi' },
    ...messages[0].parts,
  ]
  await assert.rejects(
    transport.sendMessages({
      chatId,
      messages: [{ ...messages[0], id: 'm-2', parts }],
      trigger: 'submit-message',
    }),
    /must be an http: or https: URL/,
  )
}

/** Bundles a page with the packages of one version. */
async function bundle(code, aliases) {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: import.meta.dirname, loader: 'jsx' },
    absWorkingDir: import.meta.dirname,
    bundle: true,
    format: 'esm',
    write: false,
    jsx: 'automatic',
    alias: aliases,
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  })
  return outputFiles[0].text
}

/** Serves a script in a page, and the route of the docs. */
async function serve(script) {
  const server = http.createServer((request, response) => void reply(request, response))
  async function reply(request, response) {
    const { method, url, headers } = request
    if (!url.startsWith('/api/chat')) {
      response.setHeader('content-type', 'text/html')
      return response.end(
        `<!doctype html><div id="root"></div><script src="data:,"></script><script type="module">${script.replaceAll('</script', '<\\/script')}</script>`,
      )
    }
    const body = method === 'POST' ? await text(request) : undefined
    const asked = new Request(`http://${headers.host}${url}`, { method, body })
    const answer = await (method === 'POST' ? POST : GET)(asked)
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body) Readable.fromWeb(answer.body).pipe(response)
    else response.end()
  }
  await once(server.listen(Number(process.env.PAGE_PORT ?? 0), '127.0.0.1'), 'listening')
  return server
}

const root = `import { createRoot } from 'react-dom/client'
const root = createRoot(document.getElementById('root'))`
const SHORT = `import Page from './app/page.jsx'
${root}
root.render(<Page />)`
const WHOLE = `import { Chat, open } from './app/chat.jsx'
${root}
const { searchParams } = new URL(location)
root.render(<Chat {...await open(Object.fromEntries(searchParams))} />)`

async function onPage(browser, code, aliases, use) {
  const server = await serve(await bundle(code, aliases))
  const page = await browser.newPage()
  page.setDefaultTimeout(LIMIT_MS)
  const errors = []
  page.on('pageerror', (error) => errors.push(error.message))
  try {
    await use(page, `http://127.0.0.1:${server.address().port}`)
    assert.deepEqual(errors, [])
  } finally {
    await page.close()
    server.closeAllConnections()
    server.close()
  }
}

const say = async (page, text) => {
  await page.locator('input').fill(text)
  await page.locator('input').press('Enter')
}
const sees = (page, text) => page.getByText(text).waitFor()

async function checkPages({ version, aliases }) {
  const browser = await chromium.launch(chromiumOptions())
  try {
    await onPage(browser, SHORT, aliases, async (page, origin) => {
      await page.goto(origin)
      await say(page, `Hello ${version}`)
      await sees(page, `You say: Hello ${version}`)
      await page.reload()
      await sees(page, `You say: Hello ${version}`)
    })
    const session = `page-${version}/1`
    const { token } = await call('POST', '/v1/session-tokens', {
      sessions: { prefix: `page-${version}/` },
    })
    await onPage(browser, WHOLE, aliases, async (page, origin) => {
      const urlOf = (agent, id = session) =>
        `${origin}/?${new URLSearchParams({ api: `${BASE_URL}/ai-sdk/v1/${agent}`, id, token })}`
      await page.goto(urlOf('story'))
      await say(page, 'Tell me')
      await sees(page, 'Once upon a time')
      await page.reload()
      await sees(page, 'Once upon a time')
      await sees(page, 'search output-available')
      await goOn(session)
      await sees(page, 'there was an agent.')
      assert.equal(await page.getByText('assistant:').count(), 1)
      await page.reload()
      await sees(page, 'there was an agent.')
      assert.equal(await page.getByText('assistant:').count(), 1)

      await page.goto(urlOf('asking'))
      await say(page, 'Order it')
      await sees(page, 'Pay?')
      await page.reload()
      await page.getByRole('button', { name: 'yes' }).click()
      await sees(page, 'Paid: yes')

      await page.goto(urlOf('restarting'))
      await say(page, 'Begin')
      await sees(page, 'First try')
      await goOn(session)
      await sees(page, 'Second try')
      assert.equal(await page.getByText('First try').count(), 0)

      await page.goto(urlOf('failing', `page-${version}/3`))
      const refused = {
        status: 401,
        headers: { 'access-control-allow-origin': '*' },
        body: 'Signed out',
      }
      await page.route('**/ai-sdk/**', (route) => route.fulfill(refused))
      await say(page, 'Begin')
      await sees(page, 'Signed out')
      await page.unroute('**/ai-sdk/**')

      await page.goto(urlOf('story', `page-${version}/2`))
      await say(page, 'Tell me')
      await sees(page, 'Once upon a time')
      const stop = page.getByRole('button', { name: 'Stop' })
      await stop.click()
      await stop.waitFor({ state: 'detached' })
      await page.reload()
      await sees(page, 'the message was cancelled')
    })
  } finally {
    await browser.close()
  }
}

for (const client of VERSIONS) {
  await checkTransport(client)
  if (chromiumPath()) await checkPages(client)
  else if (process.env.CI_STRICT === '1') throw new Error('Chromium is missing.')
  else console.log('The pages were not checked: Chromium is missing.')
  console.log(`The clients of AI SDK ${client.version} read, resume, stop and answer.`)
}
