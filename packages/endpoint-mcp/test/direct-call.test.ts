import { beforeEach, describe, expect, it, vi } from 'vitest'
import { serveMcp } from '../src/serve.js'
import { legacyCall, MODERN, openScene } from './scene.js'

vi.mock('../src/serve.js', async (original) => {
  const actual = await original<{ serveMcp: typeof serveMcp }>()
  return { serveMcp: vi.fn<typeof serveMcp>(actual.serveMcp) }
})
beforeEach(() => void vi.mocked(serveMcp).mockClear())

const LEGACY = { 'mcp-protocol-version': '2025-11-25' }
/** The SDK takes this type too, and the direct way does not. */
const BY_SDK = { 'content-type': 'application/json; charset=utf-8' }
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'a client', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const CAN_ASK = {
  ...ENVELOPE,
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}
const modernCall = (name: string, input: object, meta: object = ENVELOPE) => {
  const call = legacyCall(name, input)
  return { ...call, params: { ...call.params, _meta: meta } }
}
const modernHeaders = (name: string) => ({
  'mcp-protocol-version': MODERN,
  'mcp-method': 'tools/call',
  'mcp-name': name,
})

const HELLO = { agent: 'echo', message: 'Hello', idempotencyKey: 'hello' }
const PAY = { agent: 'asking', message: 'Pay', idempotencyKey: 'pay' }
const NO_MESSAGE = { agent: 'echo', messageId: '01890a5d-ac96-774b-bcce-b302099a8057' }
const CALLS = [
  ['send_message', HELLO],
  ['send_message', PAY],
  ['send_message', { agent: 'failing', message: 'Hello', idempotencyKey: 'failing' }],
  ['send_message', { agent: 'nobody', message: 'Hello' }],
  ['send_message', { agent: 'echo' }],
  ['send_message', { agent: 'for-users', message: 'Hello' }],
  ['list_agents', {}],
  ['list_agents', { cursor: 'none' }],
  ['get_message', NO_MESSAGE],
  ['answer_input', { ...NO_MESSAGE, inputId: 'none', value: 1 }],
] as const

/** Sends the request both ways. A replay has the same result as the first request. */
async function bothWays(
  { request }: Pick<Awaited<ReturnType<typeof openScene>>, 'request'>,
  body: unknown,
  headers: Record<string, string>,
) {
  const answerOf = async (more: Record<string, string>) => {
    const { status, headers: sent, text } = await request(body, { ...headers, ...more })
    const kept = ['content-type', 'cache-control', 'allow', 'retry-after'].map((name) => [
      name,
      sent.get(name),
    ])
    return { status, headers: kept, body: text === '' ? '' : (JSON.parse(text) as unknown) }
  }
  const first = await answerOf({})
  const servedBySdk = vi.mocked(serveMcp).mock.calls.length === 1
  return { first, servedBySdk, bySdk: await answerOf(BY_SDK) }
}

describe('a tool call of the usual form is answered without the SDK, as by the SDK', () => {
  it.each(CALLS)('%s %j of revision 2025-11-25', async (name, input) => {
    const { first, servedBySdk, bySdk } = await bothWays(
      await openScene(),
      legacyCall(name, input),
      LEGACY,
    )
    expect(servedBySdk).toBe(false)
    expect(first).toEqual(bySdk)
  })

  it.each(CALLS)('%s %j of revision 2026-07-28', async (name, input) => {
    const { first, servedBySdk, bySdk } = await bothWays(
      await openScene(),
      modernCall(name, input),
      modernHeaders(name),
    )
    expect(servedBySdk).toBe(false)
    expect(first).toEqual(bySdk)
  })

  it('with a question as a form', async () => {
    const { first, servedBySdk, bySdk } = await bothWays(
      await openScene(),
      modernCall('send_message', PAY, CAN_ASK),
      modernHeaders('send_message'),
    )
    expect(servedBySdk).toBe(false)
    expect(first.body).toMatchObject({ result: { resultType: 'input_required' } })
    expect(first).toEqual(bySdk)
  })

  it('with an exception of the service', async () => {
    const scene = await openScene()
    vi.spyOn(scene.service.agents, 'list').mockImplementation(() => {
      throw new Error('told to fail')
    })
    const { first, bySdk } = await bothWays(scene, legacyCall('list_agents', {}), LEGACY)
    expect(first.body).toMatchObject({ result: { isError: true } })
    expect(first).toEqual(bySdk)
    expect(scene.errors).toHaveLength(2)
  })
})

const call = modernCall('send_message', HELLO)
const { params } = call
const usual = modernHeaders('send_message')

describe('the SDK answers', () => {
  it.each([
    [
      'a call with a progress token',
      modernCall('send_message', HELLO, { ...ENVELOPE, progressToken: 1 }),
      usual,
    ],
    ['a call with a state', { ...call, params: { ...params, requestState: 'x' } }, usual],
    ['a call without its headers', call, { 'mcp-protocol-version': MODERN }],
    ['a call with the name of another tool', call, { ...usual, 'mcp-name': 'list_agents' }],
    ['a call of another revision than its header', call, LEGACY],
    ['a call of an unknown revision', call, { ...usual, 'mcp-protocol-version': '2099-01-01' }],
    ['an unknown tool', modernCall('none', {}), modernHeaders('none')],
    ['arguments that are no object', modernCall('send_message', []), usual],
    ['a missing id', { ...call, id: undefined }, usual],
    ['an id that is null', { ...call, id: null }, usual],
    ['an older JSON-RPC', { ...call, jsonrpc: '1.0' }, usual],
    ['a client that wants no stream', call, { ...usual, accept: 'application/json' }],
    ['a call with a session', legacyCall('list_agents', {}), { ...LEGACY, 'mcp-session-id': 'x' }],
    ['another method', { ...call, method: 'tools/list' }, { ...usual, 'mcp-method': 'tools/list' }],
  ])('%s', async (_, body, headers) => {
    const { first, servedBySdk, bySdk } = await bothWays(await openScene(), body, headers)
    expect(servedBySdk).toBe(true)
    expect(first).toEqual(bySdk)
  })
})
