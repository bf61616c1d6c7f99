import { createServer } from 'node:http'
import { once } from 'node:events'
import { inEnvironment } from '../environment.mjs'
import { ms } from './figures.mjs'
import { service, STORES } from './servers.mjs'

const MiB = 2 ** 20
const KEY = 'the-api-key-of-the-benchmark'

/** The longest stops are printed with the names of their inputs. */
const NAMED = 5

/** Sends the worst input of each place, one after the other. */
export const worstInput = {
  figure: ({ stop }) => `${ms(stop)} ms`,
  ratio: ({ ours, floor }) => `${(ours.stop / floor.stop).toFixed(1)} ×`,
  measures: () =>
    `longest stop of the event loop by the worst input of each place, ${STORES.sqlite}`,
  must: '≤ 50 ms',
  contenders: () => [
    { role: 'floor', name: 'plain sends', measure: () => measure({ 'plain send': plainSends }) },
    { role: 'ours', name: STORES.sqlite, measure: () => measure(inputs) },
  ],
}

const measure = (cases) =>
  inEnvironment(async (environment) => {
    const server = await service('sqlite')(environment, {}, 'watched-server')
    const { origin } = new URL(server.ready.url)
    const call = callOf(origin, server.ready.headers)
    await warmUp(call)
    const stops = []
    for (const [name, send] of Object.entries(cases)) {
      await server.ask('longestStop')
      await send(call)
      stops.push({ name, ...(await server.ask('longestStop')) })
    }
    stops.sort((a, b) => b.stop - a.stop)
    const [{ stop }] = stops
    for (const one of stops.slice(0, NAMED)) console.error(`  ${ms(one.stop)} ms: ${one.name}`)
    return { stop }
  })

/** Returns the status, headers and text of an answer. */
const callOf =
  (origin, headers) =>
  async (method, path, { body, type = 'application/json', ...more } = {}) => {
    const init = { method, redirect: 'manual', headers: { ...headers, ...more } }
    if (body !== undefined) {
      init.headers['content-type'] = type
      init.body = typeof body === 'string' ? body : JSON.stringify(body)
    }
    const response = await fetch(new URL(path, origin), init)
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

let sent = 0
const sendTo = async (call, agent, message, more = {}) => {
  const body = { sessionId: `s${sent++}`, message: JSON.stringify(message), ...more }
  const answered = await call('POST', `/v1/agents/${agent}/messages`, { body })
  return JSON.parse(answered.text)
}

/** Code that runs for the first time is slower, and no input can repeat that. */
async function warmUp(call) {
  for (let round = 0; round < 3; round++) {
    await plainSends(call)
    await answerWith({ schema: { items: { minimum: 0, allOf: [{}] } }, values: [numbers(20)] })(
      call,
    )
    for (const { path, body, headers } of BODIES)
      await call('POST', path, { body: body('{}'), ...headers })
    await conversation(call, '**a** [b](http://c) |\n', 200)
  }
}

async function plainSends(call) {
  for (let n = 0; n < 20; n++) await sendTo(call, 'long', { part: 'a', length: 100 })
}

/** Asks a question with the schema, and answers it with each value. */
const answerWith =
  ({ schema, values }) =>
  async (call) => {
    const { messageId } = await sendTo(call, 'bench', { question: 'q', schema })
    const asked = await call('GET', `/v1/agents/bench/messages/${messageId}`)
    const { input } = JSON.parse(asked.text)
    if (input === undefined) throw new Error(`no question: ${asked.text}`)
    for (const value of values)
      await call('POST', `/v1/agents/bench/messages/${messageId}/input`, {
        body: { inputId: input.id, value },
      })
  }

const numbers = (length) => Array.from({ length }, (_, n) => n)
const times = (length, one) => Array(length).fill(one)
const members = Object.fromEntries(numbers(999).map((n) => [`k${n}`, n]))
const unicodeHosts = numbers(60).map(
  (n) =>
    `http://${numbers(240)
      .map((at) => String.fromCharCode(0x4e00 + n + at * 7))
      .join('')}`,
)
const nested = (levels, inner, around) =>
  levels === 0 ? inner : around(nested(levels - 1, inner, around))

const answers = {
  'answer to a format': answerWith({
    schema: { type: 'string', format: 'url' },
    values: [`http://${'a'.repeat(31)}.${'a'.repeat(31)}! `, `http://${'%61'.repeat(5_000)}`],
  }),
  'answer of hosts': answerWith({
    schema: { items: { format: 'url' } },
    values: [[...unicodeHosts, 1]],
  }),
  'answer to 498 schemas': answerWith({
    // The items are checked before `contains`, which keeps the question open.
    schema: { items: { allOf: times(496, {}) }, contains: false },
    values: [numbers(999)],
  }),
  'answer to many keywords': answerWith({
    schema: {
      items: { allOf: times(120, { type: 'number', minimum: -1, maximum: 9e9, multipleOf: 1 }) },
      contains: false,
    },
    values: [numbers(999)],
  }),
  'answer to many alternatives': answerWith({
    schema: { items: { anyOf: [...times(465, { minimum: 9 }), true] }, contains: false },
    values: [numbers(980).map((n) => Number(`${n + 1}.234567e-200`))],
  }),
  'answer to uniqueItems': answerWith({
    schema: { allOf: times(380, { uniqueItems: true }), not: {} },
    values: [numbers(999)],
  }),
  'answer to unevaluatedProperties': answerWith({
    schema: { oneOf: times(200, { additionalProperties: true }), unevaluatedProperties: true },
    values: [members],
  }),
  'answer to unevaluatedProperties in each other': answerWith({
    schema: {
      ...nested(6, { anyOf: times(40, { unevaluatedProperties: true }) }, (inner) => ({
        anyOf: [inner],
        unevaluatedProperties: true,
      })),
      not: {},
    },
    values: [members],
  }),
  'answer with 8,000 values': answerWith({
    schema: {},
    values: [numbers(1_000), times(5_000, {})],
  }),
}

/** Entrances of JSON. `body` puts a value into the request. */
const rpc = (method, params) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`
const toolCall = (value) =>
  rpc('tools/call', `{"name":"send_message","arguments":{"agent":"long","metadata":${value}}}`)
const BODIES = [
  {
    path: '/v1/agents/long/messages',
    body: (value) => `{"sessionId":"s","message":"{}","metadata":${value}}`,
  },
  { path: '/v1/agents', body: (value) => `{"name":"x","runtime":{"kind":"http","url":${value}}}` },
  {
    path: '/v1/webhooks',
    body: (value) => `{"url":"https://a.example","events":[],"filter":${value}}`,
  },
  { path: '/v1/keys', body: (value) => value },
  { path: '/mcp', body: toolCall, headers: { accept: 'application/json, text/event-stream' } },
  {
    path: '/a2a/bench',
    body: (value) =>
      rpc(
        'SendMessage',
        `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${value}}],"metadata":${value}}}`,
      ),
    headers: { 'a2a-version': '1.0' },
  },
  {
    path: '/a2a/bench/message:send',
    body: (value) => `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${value}}]}}`,
    headers: { 'a2a-version': '1.0' },
  },
  {
    path: '/openai/v1/responses',
    body: (value) => `{"model":"long","input":${value},"metadata":${value}}`,
  },
  { path: '/openai/v1/chat/completions', body: (value) => `{"model":"long","messages":${value}}` },
]

const list = (parts) => `[${parts.join(',')}]`
const VALUES = {
  deep: '['.repeat(400_000),
  'deep and closed': '['.repeat(200_000) + ']'.repeat(200_000),
  'as deep as allowed': '['.repeat(28) + list(times(9_000, '{}')) + ']'.repeat(28),
  broad: list(times(400_000, '1')),
  'as broad as allowed': list(times(9_950, '{"a":1}')),
  'many keys': `{${numbers(9_900)
    .map((n) => `"${n.toString(36)}k":1`)
    .join(',')}}`,
  'many objects': list(numbers(4_500).map((n) => `{"k${n}":${n}}`)),
  messages: list(times(3_000, '{"role":"user","content":"a"}')),
  escapes: `"${'\\"'.repeat(450_000)}"`,
  'a digit and more': `1${'0'.repeat(900_000)}`,
}
const bodies = Object.fromEntries(
  Object.entries(VALUES).flatMap(([name, value]) =>
    BODIES.map(({ path, body, headers }) => [
      `${name} in ${path}`,
      (call) => call('POST', path, { body: body(value).slice(0, MiB), ...headers }),
    ]),
  ),
)

/** The longest line of a header that Node takes is 16 KiB, with all others. */
const LONG = 14_000
const repeated = (part, length = LONG) => part.repeat(length / part.length)
const headers = {
  'header Prefer': (call) => call('GET', '/v1/agents', { prefer: repeated('a="\\",;') }),
  'header X-Forwarded-For': (call) =>
    call('GET', '/v1/agents', { 'x-forwarded-for': repeated('1:1,') }),
  'header Content-Type': (call) =>
    call('POST', '/v1/agents', { body: '{}', type: repeated('application/json;') }),
  'header traceparent': (call) =>
    call('POST', '/v1/agents/long/messages', {
      body: {},
      traceparent: repeated('00-'),
      tracestate: repeated('a=1,'),
    }),
  'header Authorization': (call) =>
    call('GET', '/v1/agents', { authorization: `Bearer ${repeated('amk_')}` }),
  'header Cookie': (call) => call('GET', '/console', { cookie: repeated('a=1; ') }),
  'query cursor': (call) => call('GET', `/v1/messages?cursor=${repeated('a.')}`),
  'query of many fields': (call) => call('GET', `/v1/messages?${repeated('a=1&')}`),
  'token of a list of tasks': (call) =>
    call('GET', `/a2a/bench/tasks?pageToken=${repeated('1.')}`, { 'a2a-version': '1.0' }),
  path: (call) => call('GET', `/v1/${repeated('%2e/')}`),
}

/** Shows a conversation of answers in the console. */
async function conversation(call, part, length = 16_384) {
  const sessionId = `s${sent++}`
  const message = { part, length }
  for (let n = 0; n < 50; n++) await sendTo(call, 'long', message, { sessionId })
  const body = new URLSearchParams({ key: KEY }).toString()
  const signedIn = await call('POST', '/console/sign-in', {
    body,
    type: 'application/x-www-form-urlencoded',
  })
  const cookie = signedIn.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  await call('GET', `/console/sessions/long?session=${sessionId}`, { cookie })
}
const MARKDOWN = [
  '|\n',
  '- a\n',
  '> a\n',
  '*a ',
  '**a *b ',
  '[a](http://b) ',
  '![a](http://b) ',
  '[',
  '`a``b',
  '~~a',
  '<a ',
  'a\n=\n',
  '&amp;',
  'a  \n',
]
const TABLE = `|a|b|\n|-|-|\n${'|\n'.repeat(500)}`
const conversations = Object.fromEntries(
  [...MARKDOWN, TABLE].map((part) => [
    `Markdown ${JSON.stringify(part.slice(0, 20)).replaceAll('|', '│')}`,
    (call) => conversation(call, part),
  ]),
)

/** Lets an agent at another server answer. */
async function httpAgentAnswers(call, body) {
  const agent = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const name = `http${sent++}`
  const url = `http://127.0.0.1:${agent.address().port}/`
  const runtime = { kind: 'http', url }
  await call('POST', '/v1/agents', { body: { name, runtime, desiredState: 'running' } })
  await sendTo(call, name, {})
  agent.close()
}
const agents = Object.fromEntries(
  Object.entries(VALUES).flatMap(([name, value]) => [
    [`${name} of an HTTP agent`, (call) => httpAgentAnswers(call, `{"response":${value}}`)],
    [
      `${name} in a question`,
      (call) => httpAgentAnswers(call, `{"question":"q","schema":{"enum":${value}}}`),
    ],
  ]),
)
const options = {
  'slashes in a base URL': (call) =>
    call('POST', '/v1/agents', {
      body: {
        name: 'model',
        runtime: { kind: 'openai', model: 'm', baseUrl: `http://a/${'/'.repeat(900_000)}a` },
      },
    }),
}

/** Long answers that almost contain the text. */
const search = {
  'searches for a text': async (call) => {
    for (let n = 0; n < 40; n++) await sendTo(call, 'long', { part: 'a', length: 60_000 })
    const text = `${'a'.repeat(99)}b`
    await Promise.all(numbers(6).map(() => call('GET', `/v1/messages?text=${text}`)))
  },
}

const inputs = {
  ...search,
  ...answers,
  ...headers,
  ...bodies,
  ...options,
  ...agents,
  ...conversations,
}
