import { inEnvironment } from '../environment.mjs'
import { count } from './figures.mjs'
import { underLoad } from './send.mjs'
import { service, STORES } from './servers.mjs'

/** The same message as the one of `send`. */
const RESPONSE = {
  model: 'bench',
  input: 'Hello, can you help me?',
  conversation: 'session-[<id>]',
  metadata: { channel: 'C1', correlationId: '42' },
}

/** Measures the CPU of a send through another protocol. The floor is the API of the service. */
const endpoint = (name, { path, body, headers, must = 'CPU ≤ 1.3 ×' }) => ({
  figure: ({ cpuMicros, perSecond }) => `${count(cpuMicros)} µs, ${count(perSecond)}/s`,
  ratio: ({ ours, floor }) => `CPU ${(ours.cpuMicros / floor.cpuMicros).toFixed(2)} ×`,
  measures: ({ connections }) =>
    `send → 200 through the ${name} endpoint, ${connections} connections, ${STORES.sqlite}`,
  must,
  contenders: (sizes) => [
    { role: 'floor', name: 'native route', measure: () => measure(sizes, { name }) },
    { role: 'ours', name, measure: () => measure(sizes, { name, path, body, headers }) },
  ],
})
export const endpointOpenai = endpoint('openai', { path: '/openai/v1/responses', body: RESPONSE })

/** The message of `send`, over JSON-RPC. */
const TASK = {
  jsonrpc: '2.0',
  id: 1,
  method: 'SendMessage',
  params: {
    message: {
      messageId: '[<id>]',
      contextId: 'session-[<id>]',
      role: 'ROLE_USER',
      parts: [{ text: 'Hello, can you help me?' }],
      metadata: { channel: 'C1', correlationId: '42' },
    },
  },
}
export const endpointA2a = endpoint('a2a', {
  path: '/a2a/bench',
  body: TASK,
  headers: { 'a2a-version': '1.0' },
})

/** The message of `send`, as a tool call of revision 2026-07-28. */
const TOOL_CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'send_message',
    arguments: {
      agent: 'bench',
      message: 'Hello, can you help me?',
      sessionId: 'session-[<id>]',
      metadata: { channel: 'C1', correlationId: '42' },
      idempotencyKey: '[<id>]',
    },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'benchmark', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}
export const endpointMcp = endpoint('mcp', {
  path: '/mcp',
  must: 'CPU ≤ 2.5 ×',
  body: TOOL_CALL,
  headers: {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'send_message',
  },
})

const measure = (sizes, { name, path, body, headers }) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const options = { endpoints: [name], webhooks: [receiver.ready.url] }
    const server = await service('sqlite')(environment, options)
    const { url } = server.ready
    const ready = {
      ...server.ready,
      url: path === undefined ? url : new URL(path, url).href,
      headers: { ...server.ready.headers, ...headers },
      body,
    }
    const load = await environment.start('load')
    return underLoad({ server: { ...server, ready }, receiver, load }, sizes)
  })
