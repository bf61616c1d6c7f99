import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { chromiumOptions } from '../../../scripts/chromium.mjs'
import { needs } from '../../../scripts/test-needs.js'
import { listen, openDoor, withKey } from './door.js'

const client = fileURLToPath(new URL('../../client/dist', import.meta.url))
const parser = fileURLToPath(import.meta.resolve('eventsource-parser'))
const IMPORTS = { 'eventsource-parser': `/parser/${path.basename(parser)}` }
const PAGE = `<!doctype html><title>app</title>
  <script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`

/** Serves an empty page, and the client as modules. Returns the origin of the page. */
async function servePage() {
  const server = createServer(({ url = '/' }, response) => {
    if (url === '/') return void response.setHeader('content-type', 'text/html').end(PAGE)
    const file = url.startsWith('/parser/')
      ? path.join(path.dirname(parser), path.basename(url))
      : client + url
    response.setHeader('content-type', 'text/javascript').end(readFileSync(file))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

/** What the page of another origin finds with its token. */
type Found = {
  readonly text: string
  readonly tokens: number
  readonly statuses: readonly (readonly [string, number])[]
}

it(
  'a page of another origin streams its session with a token, and gets 404 for every other',
  { ...needs('chromium'), timeout: 120_000 },
  async () => {
    const page = await servePage()
    const { http, key, goOn } = await openDoor({ cors: { origins: [page] } })
    const { origin } = await listen(http.node)
    const post = async (path: string, body: object, headers: object = {}) => {
      const answer = await fetch(origin + path, {
        method: 'POST',
        headers: { ...withKey(key).headers, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      expect(answer.ok).toBe(true)
      return (await answer.json()) as { messageId: string; token: string }
    }
    const send = (sessionId: string) =>
      post('/v1/agents/slow/messages', { sessionId, message: 'go' }, { prefer: 'respond-async' })
    const own = await send('ada')
    const foreign = await send('bob')
    const { token } = await post('/v1/session-tokens', { sessions: { ids: ['ada'] } })
    const browser = await chromium.launch(chromiumOptions())
    onTestFinished(() => browser.close())
    const tab = await browser.newPage()
    await tab.goto(page)
    const reading = tab.evaluate<Found>(`(async () => {
      const { createClient } = await import('/index.js')
      let tokens = 0
      // The first token has ended.
      const token = async () => (tokens++ === 0 ? 'ams_e30.ended' : ${JSON.stringify(token)})
      const client = createClient({ baseUrl: ${JSON.stringify(origin)}, token })
      let text = ''
      for await (const event of client.messages.stream('slow', ${JSON.stringify(own.messageId)})) {
        if (event.event === 'chunk') text += event.text
        if (text === 'one ') document.title = 'streaming'
      }
      const statusOf = (work) => work.then(() => 200, ({ status }) => status)
      const foreign = ${JSON.stringify(foreign.messageId)}
      const stream = async () => { for await (const event of client.messages.stream('slow', foreign)) return event }
      const statuses = [
        ['read', await statusOf(client.messages.get('slow', foreign))],
        ['stream', await statusOf(stream())],
        ['cancel', await statusOf(client.messages.cancel('slow', foreign))],
        ['send', await statusOf(client.messages.send('slow', { sessionId: 'bob', message: 'x' }))],
        ['agents', await statusOf(client.agents.list())],
      ]
      return { text, tokens, statuses }
    })()`)
    await expect.poll(() => tab.title(), { timeout: 60_000 }).toBe('streaming')
    goOn()
    expect(await reading).toEqual({
      text: 'one two',
      tokens: 2,
      statuses: [
        ['read', 404],
        ['stream', 404],
        ['cancel', 404],
        ['send', 404],
        ['agents', 403],
      ],
    })
  },
)
