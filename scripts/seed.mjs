// Fills a running server with messages, for a look at its pages: eight agents, of which `billing`
// fails, and five webhooks, of which three are dead. Ends with Ctrl-C, because the agents and the
// receivers are in this process.
//   node scripts/seed.mjs [--server http://127.0.0.1:3000] [--api-key …] [--messages 2501]
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freePort } from './free-port.mjs'

const { values: options } = parseArgs({
  options: {
    server: { type: 'string', default: 'http://127.0.0.1:3000' },
    'api-key': { type: 'string' },
    messages: { type: 'string', default: '2501' },
  },
})
const key = options['api-key'] ?? (await readFile('data/api-key', 'utf8')).trim()
const messages = Number(options.messages)
const CLIENTS = 16
const SESSIONS_PER_AGENT = 25

const AGENTS = [
  'support',
  'sales',
  'search',
  'translator',
  'planner',
  'reviewer',
  'writer',
  'billing',
]
const FAILING = 'billing'

/** The answers of the agents and of the receivers, by the first parts of their paths. */
const ANSWERS = {
  agent: (name, { message }) =>
    name === FAILING
      ? [500, { error: 'the ledger is closed' }]
      : [
          200,
          {
            response: `${name}: ${message}`,
            usage: { inputTokens: message.length, outputTokens: 12 },
          },
        ],
  hook: (name) =>
    ({
      crm: [200, 'stored'],
      archive: [204],
      broken: [500, 'database "orders" is down, ask the team of the shop'],
      gone: [410, 'this endpoint was removed'],
    })[name],
}

async function answer(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  if (request.method === 'OPTIONS') return response.writeHead(204).end() // a health check
  const [, kind, name] = request.url.split('/')
  const [status, body = ''] = ANSWERS[kind](name, JSON.parse(Buffer.concat(chunks)))
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' })
  return response.end(isText ? body : JSON.stringify(body))
}

async function api(method, route, body, headers = {}) {
  const response = await fetch(options.server + route, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`)
  return JSON.parse(text)
}

const server = createServer((request, response) => void answer(request, response))
await once(server.listen(0, '127.0.0.1'), 'listening')
const here = `http://127.0.0.1:${server.address().port}`
const events = ['message.responded', 'message.failed']
const webhooks = {
  'CRM, accepts': `${here}/hook/crm`,
  'Archive, accepts': `${here}/hook/archive`,
  'Shop, answers 500': `${here}/hook/broken`,
  'Old shop, answers 410': `${here}/hook/gone`,
  'Warehouse, refuses connections': `http://127.0.0.1:${await freePort()}/`,
}
for (const [description, url] of Object.entries(webhooks))
  await api('POST', '/v1/webhooks', { url, description, events })
for (const name of AGENTS) {
  const runtime = { kind: 'http', url: `${here}/agent/${name}` }
  await api('POST', '/v1/agents', { name, runtime, desiredState: 'running', maxAttempts: 1 })
}

let sent = 0
async function client() {
  for (let n = sent++; n < messages; n = sent++) {
    const agent = AGENTS[n % AGENTS.length]
    const sessionId = `customer-${Math.floor(n / AGENTS.length) % SESSIONS_PER_AGENT}`
    const executionPrincipal = { type: 'end_user', endUserId: sessionId }
    const message = {
      sessionId,
      executionPrincipal,
      message: `Où est ma commande ${n} ?`,
      metadata: { order: n },
    }
    await api('POST', `/v1/agents/${agent}/messages`, message, { prefer: 'wait=5' })
    if (n % 500 === 499) console.log(`${n + 1} messages`)
  }
}
await Promise.all(Array.from({ length: CLIENTS }, client))

const isOpen = async (state) =>
  (
    await Promise.all(
      AGENTS.map((name) => api('GET', `/v1/agents/${name}/messages?state=${state}&limit=1`)),
    )
  ).some(({ data }) => data.length > 0)
while ((await isOpen('queued')) || (await isOpen('running'))) await sleep(200)
console.log(`Sent ${messages} messages. The agent ${FAILING} failed. Three webhooks are dead: one answers 500,
one answers 410, and one refuses connections. Their deliveries are retried while this program runs.
Open ${options.server}/console: the overview, Webhooks, each webhook, Agents and Deliveries.
The same numbers: /v1/usage, /v1/stats?by=webhook, /v1/stats?by=agent. End with Ctrl-C.`)
