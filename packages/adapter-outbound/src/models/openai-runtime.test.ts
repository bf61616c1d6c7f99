import type { JsonObject } from '@org/agent-messaging-core'
import { success, type RunRequest } from '@org/agent-messaging-core/runtime'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { anAgent, aRunRequest, unwrap, unwrapError } from '@org/agent-messaging-testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { chatServer, chunk, completion, DONE, events, json } from '../../test/chat-server.js'
import { dnsServer } from '../../test/dns-server.js'
import { eventually } from '../../test/eventually.js'
import { http, rawServer } from '../../test/raw-server.js'
import { addressGuard, type AddressPolicy } from '../address-guard.js'
import { Fault } from '../fault.js'
import { guardedFetch, type FetchLimits } from '../guarded-fetch.js'
import { openaiRuntime } from './openai-runtime.js'
import { outboundHttp } from '../outbound-http.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0).toReversed()) await close()
})

const { crypto } = nodePlatform({ masterKey: new Uint8Array(32) })
const never = new AbortController().signal
const KEY = 'sk-very-secret-key'
/** A part of type thinking, as Mistral's models return it. */
const THINKING = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm…' }] }

type Setting = {
  readonly policy?: AddressPolicy
  readonly answers?: Parameters<typeof dnsServer>[0]
  readonly limits?: FetchLimits
  readonly maxAnswerLength?: number
}

async function runtime({
  policy = { allowLoopback: true },
  answers = {},
  limits = {},
  ...options
}: Setting = {}) {
  const dns = await dnsServer(answers)
  const outbound = outboundHttp({ guard: addressGuard(policy), dnsServers: [dns.address] })
  closing.push(dns.close, outbound.close)
  return openaiRuntime({
    fetch: guardedFetch(outbound, limits),
    vet: outbound.vet,
    crypto,
    ...options,
  })
}

/** Starts an agent from the results of `parseOptions`, like the service. */
async function running(options: JsonObject, setting: Setting = {}) {
  const kind = await runtime(setting)
  const parsed = unwrap(await kind.parseOptions({ model: 'parrot', ...options }))
  const agent = anAgent({ runtime: { kind: 'openai', options: parsed.options } })
  return unwrap(await kind.start({ agent, secrets: parsed.secrets }, () => undefined))
}

async function server(models: Parameters<typeof chatServer>[0] = {}) {
  const chat = await chatServer(models)
  closing.push(chat.close)
  return chat
}

/** The outcome of a run and the pieces that it emitted, for a server with this behaviour. */
async function outcomeOf(
  behaviour: NonNullable<Parameters<typeof chatServer>[0]>[string],
  options: JsonObject = {},
  setting: Setting = {},
) {
  const { baseUrl } = await server({ test: behaviour })
  const emitted: unknown[] = []
  const agent = await running({ baseUrl, model: 'test', ...options }, setting)
  return {
    outcome: await agent.run(aRunRequest({ emit: (text) => emitted.push(text) }), never),
    emitted,
  }
}

const failed = (code: string, message: string | RegExp, retryable = false) => ({
  kind: 'failed',
  error: {
    code,
    message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
  },
  retryable,
})

describe('a run', () => {
  const past = (i: number) => ({
    messageId: `${i}`,
    message: `Q${i}`,
    response: `A${i}`,
    executionPrincipal: { type: 'service' } as const,
  })

  async function sent(options: JsonObject = {}, request: Partial<RunRequest> = {}) {
    const { baseUrl, requests } = await server()
    const agent = await running({ baseUrl, ...options })
    expect(await agent.run(aRunRequest({ message: 'Hello', ...request }), never)).toEqual({
      kind: 'answered',
      response: 'You say: Hello',
    })
    const [request0] = requests
    if (!request0?.body) throw new Error('no request')
    return { ...request0, body: request0.body }
  }

  it('sends the system prompt, the history and the message, in this order', async () => {
    const { method, path, body } = await sent(
      { systemPrompt: 'Be kind.' },
      { history: async () => [past(1), past(2)] },
    )
    expect([method, path]).toEqual(['POST', '/v1/chat/completions'])
    expect(body).toEqual({
      model: 'parrot',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Q1' },
        { role: 'assistant', content: 'A1' },
        { role: 'user', content: 'Q2' },
        { role: 'assistant', content: 'A2' },
        { role: 'user', content: 'Hello' },
      ],
      stream: true,
    })
  })

  it('sends images after the text, and the schema of the answer', async () => {
    const responseSchema = { type: 'object', properties: { total: { type: 'number' } } }
    const url = 'https://files.example/a.png'
    const image = { type: 'file', url, mediaType: 'Image/PNG', filename: 'a.png' } as const
    const { baseUrl, requests } = await server()
    const agent = await running({ baseUrl })
    await agent.run(aRunRequest({ message: 'Hello', parts: [image], responseSchema }), never)
    expect(requests[0]?.body).toMatchObject({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hello' },
            { type: 'image_url', image_url: { url } },
          ],
        },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'response', schema: responseSchema },
      },
    })
    const kind = await runtime()
    expect(kind.accepts?.(image, {})).toBeUndefined()
    for (const part of [
      { ...image, mediaType: 'application/pdf' },
      { ...image, mediaType: 'x-image/png' },
      { type: 'data', name: 'image/png', data: 1 },
    ] as const)
      expect(kind.accepts?.(part, {})).toContain('not supported')
    expect(kind.takesResponseSchema).toBe(true)
  })

  it('sends the trace as headers, beside the headers of the agent', async () => {
    const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'v=1' }
    const first = await sent({ headers: { 'x-team': 'own' } }, { trace })
    expect(first.headers).toMatchObject({ ...trace, 'x-team': 'own' })
    expect((await sent()).headers).not.toHaveProperty('traceparent')
  })

  it('sends only the settings that the agent has', async () => {
    expect((await sent()).body).toEqual({
      model: 'parrot',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
    })
    const { body } = await sent({
      temperature: 0,
      maxTokens: 5,
      maxCompletionTokens: 6,
      stream: false,
    })
    expect(body).toMatchObject({
      temperature: 0,
      max_tokens: 5,
      max_completion_tokens: 6,
      stream: false,
    })
  })

  it.each<[JsonObject, object]>([
    [{}, { maxTurns: 20, maxLength: 32_768 }],
    [{ history: { maxTurns: 0 } }, { maxTurns: 0, maxLength: 32_768 }],
    [{ history: { maxLength: 9, maxTurns: 3 } }, { maxTurns: 3, maxLength: 9 }],
  ])('with %j asks for the history %j', async (options, limit) => {
    const limits: object[] = []
    const history: RunRequest['history'] = async (limit) => {
      limits.push(limit)
      return []
    }
    await sent(options, { history })
    expect(limits).toEqual([limit])
  })

  it.each([true, false])(
    'sends its key and headers and none from the environment (stream: %s)',
    async (stream) => {
      for (const name of [
        'OPENAI_API_KEY',
        'OPENAI_ADMIN_KEY',
        'OPENAI_ORG_ID',
        'OPENAI_PROJECT_ID',
        'OPENAI_WEBHOOK_SECRET',
      ])
        vi.stubEnv(name, 'from-our-environment')
      vi.stubEnv('OPENAI_BASE_URL', 'http://127.0.0.1:1/from-our-environment')
      vi.stubEnv(
        'OPENAI_CUSTOM_HEADERS',
        'x-operator: from-our-environment\nauthorization: from-our-environment',
      )
      const { headers } = await sent({ apiKey: KEY, headers: { 'X-Tenant': 'Zoë' }, stream })
      const { host, 'content-length': length, ...others } = headers
      expect(others).toEqual({
        authorization: `Bearer ${KEY}`,
        'x-tenant': 'Zoë',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'accept-encoding': 'identity',
        connection: 'keep-alive',
        'user-agent': 'agent-messaging',
      })
      expect(host && length).toBeTruthy()
      expect((await sent({ stream })).headers).not.toHaveProperty('authorization')
      expect(
        (await sent({ apiKey: KEY, headers: { Authorization: 'Basic x' } })).headers.authorization,
      ).toBe('Basic x')
    },
  )

  it('sends a pseudonym of the end user only if sendUser is set', async () => {
    const ada = {
      agentId: 'a',
      executionPrincipal: { type: 'end_user', endUserId: 'ada@example.com' },
    } as const
    const names = async (options: JsonObject, request: Partial<RunRequest>) => {
      const { body } = await sent(options, request)
      expect(JSON.stringify(body)).not.toContain('ada')
      return [body['safety_identifier'], body['user']]
    }
    expect(await names({}, ada)).toEqual([undefined, undefined])
    expect(await names({ sendUser: false }, ada)).toEqual([undefined, undefined])
    expect(await names({ sendUser: 'user' }, { executionPrincipal: { type: 'service' } })).toEqual([
      undefined,
      undefined,
    ])
    const [name] = await names({ sendUser: 'safety_identifier' }, ada)
    expect(name).toMatch(/^[\w-]{40,64}$/)
    expect(await names({ sendUser: 'user' }, ada)).toEqual([undefined, name])
    expect(await names({ sendUser: 'user' }, { ...ada, agentId: 'b' })).not.toContain(name)
    expect(
      await names(
        { sendUser: 'user' },
        { ...ada, executionPrincipal: { type: 'end_user', endUserId: 'adb' } },
      ),
    ).not.toContain(name)
  })

  it('is retried when its history cannot be read', async () => {
    const agent = await running({ baseUrl: (await server()).baseUrl })
    const request = aRunRequest({ history: () => Promise.reject(new Error('the store is away')) })
    expect(await agent.run(request, never)).toEqual(
      failed('RUNTIME_ERROR', 'the request to the model failed: the store is away', true),
    )
  })
})

describe('a streamed answer', () => {
  const answered = (response: string, ...emitted: string[]) => ({
    outcome: { kind: 'answered', response },
    emitted,
  })

  it('is emitted in pieces and returned as a whole', async () => {
    const { baseUrl } = await server()
    const emitted: unknown[] = []
    const agent = await running({ baseUrl })
    const outcome = await agent.run(
      aRunRequest({ message: 'Grüße 🎈', emit: (text) => emitted.push(text) }),
      never,
    )
    expect({ outcome, emitted }).toEqual(answered('You say: Grüße 🎈', 'You say: ', 'Grüße 🎈'))
  })

  it('is emitted before it ends', async () => {
    let finish = () => {}
    const { baseUrl } = await server({
      slow: (response) => {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .write(chunk({ content: 'Well' }))
        finish = () => response.end(chunk({ content: '.' }, 'stop'))
      },
    })
    const emitted: unknown[] = []
    const agent = await running({ baseUrl, model: 'slow' })
    const run = agent.run(aRunRequest({ emit: (text) => emitted.push(text) }), never)
    await eventually('the first piece', () => emitted.length === 1)
    finish()
    expect({ outcome: await run, emitted }).toEqual(answered('Well.', 'Well', '.'))
  })

  const event = Buffer.from(chunk({ content: 'Grüße' }))
  it.each([2, 5, 9, event.indexOf('ü') + 1, event.indexOf('\n') - 1])(
    'that is cut within an event (after %d bytes), without a length, is retried',
    async (length) => {
      const { outcome } = await outcomeOf((response) => {
        response.useChunkedEncodingByDefault = false
        response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
        response.write(chunk({ content: 'H' }), () => response.end(event.subarray(0, length)))
      })
      expect(outcome).toEqual(
        failed('RUNTIME_ERROR', 'the answer ended before it was complete', true),
      )
    },
  )

  const usageOnly = `data: ${JSON.stringify({ choices: [], usage: { total_tokens: 9 } })}\n\n`
  const delta = { role: 'assistant', content: 'Hi' }
  const choices = [{ index: 0, delta, finish_reason: null }]
  const ollama = `data: ${JSON.stringify({ choices })}\n\n`
  it.each<[string, string[]]>([
    [
      'in OpenAI’s shape, with the usage last',
      [
        chunk({ role: 'assistant', content: '', refusal: null }),
        chunk({ content: 'Hi' }),
        chunk({}, 'stop'),
        usageOnly,
        DONE,
      ],
    ],
    ['in Ollama’s shape', [ollama, chunk({ content: '' }, 'stop'), DONE]],
    ['in one event', [chunk({ content: 'Hi' }, 'stop')]],
    [
      'with null for content',
      [
        chunk({ content: null }),
        chunk({ content: 'Hi' }),
        chunk({ content: null, tool_calls: [] }, 'stop'),
        DONE,
      ],
    ],
    [
      'with events without choices',
      [
        'data: {}\n\n',
        'data: {"choices":null}\n\n',
        'data: null\n\n',
        chunk({ content: 'Hi' }, 'stop'),
        DONE,
      ],
    ],
    ['without [DONE]', [chunk({ content: 'Hi' }), chunk({}, 'stop')]],
    ['without a finish reason', [chunk({ content: 'Hi' }), DONE]],
    ['cut off by its length', [chunk({ content: 'Hi' }), chunk({}, 'length'), DONE]],
    [
      'with CRLF',
      [chunk({ content: 'Hi' }, 'stop').replaceAll('\n', '\r\n'), 'data: [DONE]\r\n\r\n'],
    ],
    [
      'with comments and other fields',
      [
        ': OPENROUTER PROCESSING\n\n',
        `event: message\nid: 7\nretry: 9\n${chunk({ content: 'Hi' }, 'stop')}`,
        DONE,
      ],
    ],
    [
      'with no space after the colon',
      [chunk({ content: 'Hi' }, 'stop').replace('data: ', 'data:')],
    ],
    ['with no blank line at the end', [chunk({ content: 'Hi' }, 'stop').trimEnd()]],
    ['cut off behind its finish reason', [chunk({ content: 'Hi' }, 'stop'), 'data: [DO']],
  ])('can arrive %s', async (_, texts) => {
    expect(await outcomeOf(events(...texts))).toEqual(answered('Hi', 'Hi'))
  })

  it.each<[string, string[]]>([
    [
      'in parts of the content',
      [
        chunk({ content: [THINKING] }),
        chunk({
          content: [
            { type: 'text', text: 'H' },
            { type: 'text', text: 'i' },
          ],
        }),
        chunk({ content: '' }, 'stop'),
        DONE,
      ],
    ],
    [
      'in reasoning_content',
      [chunk({ reasoning_content: 'Hm…' }), chunk({ content: 'Hi' }, 'stop'), DONE],
    ],
    [
      'in reasoning',
      [chunk({ reasoning: 'Hm…', content: null }), chunk({ content: 'Hi' }, 'stop'), DONE],
    ],
  ])('emits the reasoning of the model that comes %s', async (_, texts) => {
    const { outcome, emitted } = await outcomeOf(events(...texts))
    expect(outcome).toEqual({ kind: 'answered', response: 'Hi' })
    expect(emitted).toEqual([{ type: 'reasoning-delta', id: 'reasoning', text: 'Hm…' }, 'Hi'])
  })

  it('is not failed by reasoning that is no text', async () => {
    const odd = [7, null, [], { text: 'Hm' }].map((reasoning) => chunk({ reasoning }))
    const thoughts = [{ type: 'thinking', thinking: 7 }, { type: 'thinking' }]
    const texts = [...odd, chunk({ content: thoughts }), chunk({ content: 'Hi' }, 'stop'), DONE]
    expect(await outcomeOf(events(...texts))).toEqual(answered('Hi', 'Hi'))
  })

  it('ends with [DONE]', async () => {
    const { outcome } = await outcomeOf(
      (response) => void response.writeHead(200).write(chunk({ content: 'Hi' }) + DONE),
    )
    expect(outcome).toEqual({ kind: 'answered', response: 'Hi' })
  })

  it('can arrive in one piece from a server that does not stream', async () => {
    expect(await outcomeOf((response) => json(response, completion({ content: 'Hi' })))).toEqual(
      answered('Hi'),
    )
    const reasoned = completion({ content: 'Hi', reasoning_content: 'Hm' })
    const { emitted } = await outcomeOf((response) => json(response, reasoned))
    expect(emitted).toEqual([{ type: 'reasoning-delta', id: 'reasoning', text: 'Hm' }])
  })

  it.each([
    ['nothing', [DONE], failed('RESPONSE_INVALID', 'the model returned no text')],
    [
      'a content filter',
      [chunk({ content: 'H' }), chunk({}, 'content_filter'), DONE],
      failed('RUNTIME_ERROR', "the server's content filter blocked the answer"),
    ],
    [
      'a tool call',
      [
        chunk({ content: 'H' }),
        chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] }),
        chunk({}, 'tool_calls'),
        DONE,
      ],
      failed('RESPONSE_INVALID', /called a tool/),
    ],
    [
      'a function call',
      [chunk({ function_call: { name: 'f' } }, 'function_call'), DONE],
      failed('RESPONSE_INVALID', /called a tool/),
    ],
    [
      'an early end',
      [chunk({ content: 'H' })],
      failed('RUNTIME_ERROR', 'the answer ended before it was complete', true),
    ],
    [
      'no event at all',
      [],
      failed('RUNTIME_ERROR', 'the answer ended before it was complete', true),
    ],
    [
      'text that is not JSON',
      ['data: Hello\n\n'],
      failed('RESPONSE_INVALID', "the model server's response is not valid JSON"),
    ],
    [
      'an error',
      [
        chunk({ content: 'H' }),
        'data: {"error":{"message":"out of memory","type":"server_error","code":null}}\n\n',
      ],
      failed('RUNTIME_ERROR', 'the request to the model failed: out of memory', true),
    ],
    [
      'an error with a final status',
      ['data: {"error":{"message":"too many tokens","code":400}}\n\n', DONE],
      failed('RUNTIME_ERROR', 'the request to the model failed: too many tokens'),
    ],
    [
      'an error in Ollama’s shape',
      ['data: {"error":"model runner gone"}\n\n'],
      failed('RUNTIME_ERROR', 'the request to the model failed: model runner gone', true),
    ],
    [
      'an error in vLLM’s old shape',
      ['data: {"object":"error","message":"bad","code":400}\n\n'],
      failed('RUNTIME_ERROR', 'the request to the model failed: bad'),
    ],
    [
      'an error of unknown shape',
      ['data: {"error":{"why":7}}\n\n'],
      failed('RUNTIME_ERROR', 'the request to the model failed: {"why":7}', true),
    ],
  ])('of %s fails', async (_, texts, outcome) => {
    expect((await outcomeOf(events(...texts))).outcome).toEqual(outcome)
  })

  it('that breaks off is retried', async () => {
    const { outcome } = await outcomeOf((response) => {
      response.writeHead(200).write(chunk({ content: 'H' }), () => response.destroy())
    })
    expect(outcome).toEqual(failed('RUNTIME_ERROR', /\(reset\)/, true))
  })

  it('beyond the limit fails and is not read further', async () => {
    const chat = await server({
      endless: (response) => {
        const more = () => {
          while (!response.destroyed && response.write(chunk({ content: 'y'.repeat(1_000) })));
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' }).on('drain', more)
        more()
      },
    })
    const request = { baseUrl: chat.baseUrl, model: 'endless' }
    const tooLong = await running(request, { maxAnswerLength: 100_000 })
    expect(await tooLong.run(aRunRequest(), never)).toEqual(
      failed('RESPONSE_INVALID', 'the answer has more than 100000 characters'),
    )
    const tooMany = await running(request, { limits: { maxEventStreamBytes: 50_000 } })
    expect(await tooMany.run(aRunRequest(), never)).toEqual(
      failed('RESPONSE_INVALID', 'the response has more than 50000 bytes'),
    )
    let open = 2
    await eventually(
      'the connections end',
      () => (void chat.openConnections().then((count) => (open = count)), open === 0),
    )
  })
})

it.each([true, false])(
  'an event or a whole answer beyond the limit fails (stream: %s)',
  async (stream) => {
    const { outcome } = await outcomeOf((response) => {
      response.writeHead(200, {
        'content-type': stream ? 'text/event-stream; x=json' : 'application/json; charset=utf-8',
      })
      response.end(`${stream ? 'data: ' : ''}{"choices":[${'[],'.repeat(3_000_000)}[]]}\n\n`)
    })
    const message = stream
      ? 'the response has an event of more than 8388608 characters'
      : 'the response has more than 8388608 bytes'
    expect(outcome).toEqual(failed('RESPONSE_INVALID', message))
  },
)

it('an event without an end fails when it is too long', async () => {
  const { outcome } = await outcomeOf((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${'x'.repeat(9_000_000)}`)
  })
  expect(outcome).toEqual(
    failed('RESPONSE_INVALID', 'the response has an event of more than 8388608 characters'),
  )
})

describe('the tokens of an answer', () => {
  const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }
  const used = { usage: { inputTokens: 12, outputTokens: 3 } }

  it('are read from a whole answer', async () => {
    const { outcome } = await outcomeOf((response) =>
      json(response, { ...completion({ content: 'Hi' }), usage }),
    )
    expect(outcome).toEqual({ kind: 'answered', response: 'Hi', ...used })
  })

  it('are read from the last chunk of a stream, which the option streamUsage asks for', async () => {
    const last = `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [], usage })}\n\n`
    const { baseUrl, requests } = await server({
      test: events(chunk({ content: 'Hi' }, 'stop'), last, DONE),
    })
    const agent = await running({ baseUrl, model: 'test', streamUsage: true })
    const outcome = await agent.run(aRunRequest(), never)
    expect(outcome).toEqual({ kind: 'answered', response: 'Hi', ...used })
    expect(requests[0]?.body).toMatchObject({ stream_options: { include_usage: true } })
  })
})

describe('an answer in one piece', () => {
  it.each<[string, unknown, object]>([
    ['text', completion({ content: 'Hi' }), { kind: 'answered', response: 'Hi' }],
    [
      'parts of text and other parts',
      completion({
        content: [
          THINKING,
          { type: 'text', text: 'H' },
          7,
          null,
          { type: 'reference', text: 'x' },
          { type: 'text', text: 'i' },
        ],
      }),
      { kind: 'answered', response: 'Hi' },
    ],
    [
      'only thinking',
      completion({ content: [THINKING] }),
      failed('RESPONSE_INVALID', 'the model returned no text'),
    ],
    [
      'text with no finish reason',
      completion({ content: 'Hi' }, null),
      { kind: 'answered', response: 'Hi' },
    ],
    [
      'text, cut off',
      completion({ content: 'Hi' }, 'length'),
      { kind: 'answered', response: 'Hi' },
    ],
    [
      'no text',
      completion({ content: '' }),
      failed('RESPONSE_INVALID', 'the model returned no text'),
    ],
    [
      'null',
      completion({ content: null }),
      failed('RESPONSE_INVALID', 'the model returned no text'),
    ],
    ['no choices', {}, failed('RESPONSE_INVALID', 'the model returned no text')],
    ['no object', [1], failed('RESPONSE_INVALID', 'the model returned no text')],
    [
      'too much',
      completion({ content: 'y'.repeat(101) }),
      failed('RESPONSE_INVALID', 'the answer has more than 100 characters'),
    ],
    [
      'filtered',
      completion({ content: 'H' }, 'content_filter'),
      failed('RUNTIME_ERROR', "the server's content filter blocked the answer"),
    ],
    [
      'a tool call',
      completion({ content: null, tool_calls: [{ id: '1' }] }, 'tool_calls'),
      failed('RESPONSE_INVALID', /called a tool/),
    ],
    [
      'an error',
      { error: { message: 'busy' } },
      failed('RUNTIME_ERROR', 'the request to the model failed: busy', true),
    ],
  ])('of %s', async (_, body, outcome) => {
    const behaviour = (response: Parameters<typeof json>[0]) => json(response, body)
    expect(await outcomeOf(behaviour, { stream: false }, { maxAnswerLength: 100 })).toEqual({
      outcome,
      emitted: JSON.stringify(body).includes('Hm…')
        ? [{ type: 'reasoning-delta', id: 'reasoning', text: 'Hm…' }]
        : [],
    })
  })

  it('that is cut, without a length, is retried', async () => {
    const { outcome } = await outcomeOf((response) => {
      response.useChunkedEncodingByDefault = false
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
      response.end('{"choices":[{"message":{"content":"H')
    })
    expect(outcome).toEqual(
      failed('RUNTIME_ERROR', 'the answer ended before it was complete', true),
    )
  })

  it('that is empty or not JSON fails', async () => {
    const html = await outcomeOf(
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
      {
        stream: false,
      },
    )
    expect(html.outcome).toEqual(
      failed('RESPONSE_INVALID', "the model server's response is not valid JSON"),
    )
    expect((await outcomeOf((response) => response.writeHead(204).end())).outcome).toEqual(
      failed('RESPONSE_INVALID', "the model server's response is not valid JSON"),
    )
  })
})

describe('an error response', () => {
  const refusal = (status: number, body: unknown = { error: { message: `no: ${status}` } }) =>
    outcomeOf((response) => json(response, body, status), {
      apiKey: KEY,
      headers: { 'X-Key': 'another-secret' },
    })

  it.each([408, 409, 425, 429, 500, 502, 503, 529])('of %d is retried', async (status) => {
    expect((await refusal(status)).outcome).toEqual(
      failed('RUNTIME_ERROR', `the request to the model failed: ${status} no: ${status}`, true),
    )
  })

  it.each([302, 400, 401, 403, 404, 413, 422])('of %d is final', async (status) => {
    expect((await refusal(status)).outcome).toEqual(
      failed('RUNTIME_ERROR', `the request to the model failed: ${status} no: ${status}`),
    )
  })

  it.each([
    ['20', 20_000],
    ['soon', undefined],
  ])('with Retry-After: %s delays the retry', async (after, retryInMs) => {
    const { outcome } = await outcomeOf((response) =>
      response.writeHead(429, { 'retry-after': after }).end('{}'),
    )
    expect(outcome).toEqual({
      ...failed('RUNTIME_ERROR', /429/, true),
      ...(retryInMs !== undefined && { retryInMs }),
    })
  })

  it('is not retried within the run', async () => {
    const { baseUrl, requests } = await server({
      busy: (response) => response.writeHead(503, { 'x-should-retry': 'true' }).end(),
    })
    const agent = await running({ baseUrl, model: 'busy' })
    expect(await agent.run(aRunRequest(), never)).toMatchObject({ retryable: true })
    expect(requests.length).toBe(1)
  })

  it('is reported without secrets and characters that stores refuse, and shortened', async () => {
    const told = await refusal(401, {
      error: { message: `Incorrect API key: ${KEY} (another-secret)\0\n${'y'.repeat(1_000)}` },
    })
    expect(told.outcome).toEqual(
      failed(
        'RUNTIME_ERROR',
        /^the request to the model failed: 401 Incorrect API key: \*{3} \(\*{3}\) y{400,500}…$/,
      ),
    )
    const page = await outcomeOf(
      (response) =>
        response.writeHead(502, { 'content-type': 'text/html' }).end(`<html>${KEY}</html>`),
      {
        headers: { 'X-Auth': `Token ${KEY}` },
      },
    )
    expect(page.outcome).toEqual(
      failed('RUNTIME_ERROR', 'the request to the model failed: 502 <html>***</html>', true),
    )
  })
})

describe('a run', () => {
  const stuck = async () =>
    server({
      stuck: (response) => void response.writeHead(200).write(chunk({ content: 'H' })),
      silent: () => undefined,
    })

  it.each(['stuck', 'silent'])(
    'ends with its signal, and closes its connection (%s)',
    async (model) => {
      const chat = await stuck()
      const agent = await running({ baseUrl: chat.baseUrl, model })
      const aborter = new AbortController()
      const run = agent.run(aRunRequest(), aborter.signal)
      await eventually('the request', () => chat.requests.length === 1)
      aborter.abort()
      expect(await run).toEqual(
        failed(
          'RUNTIME_TIMEOUT',
          'the runtime did not answer: the caller aborted the request',
          true,
        ),
      )
      expect(await agent.run(aRunRequest(), aborter.signal)).toMatchObject({ kind: 'failed' })
      expect(chat.requests.length).toBe(1)
      let open = 1
      await eventually(
        'the connection ends',
        () => (void chat.openConnections().then((count) => (open = count)), open === 0),
      )
    },
  )

  it.each(['stuck', 'silent'])('ends at the agent’s timeout (%s)', async (model) => {
    const chat = await stuck()
    const agent = await running({ baseUrl: chat.baseUrl, model, timeoutMs: 50 })
    expect(await agent.run(aRunRequest(), never)).toEqual(
      failed(
        'RUNTIME_TIMEOUT',
        'the runtime did not answer: no complete response within 50 ms',
        true,
      ),
    )
  })

  it('ends when its agent stops', async () => {
    const chat = await stuck()
    const agent = await running({ baseUrl: chat.baseUrl, model: 'stuck' })
    const runs = Promise.all([agent.run(aRunRequest(), never), agent.run(aRunRequest(), never)])
    await eventually('the requests', () => chat.requests.length === 2)
    await agent.stop()
    expect(await runs).toMatchObject([{ kind: 'failed' }, { kind: 'failed' }])
  })

  it('is retried when the server is down', async () => {
    const chat = await chatServer()
    await chat.close()
    const agent = await running({ baseUrl: chat.baseUrl })
    expect(await agent.run(aRunRequest(), never)).toEqual(
      failed('RUNTIME_ERROR', /\(connect\): no connection \(ECONNREFUSED\)/, true),
    )
  })
})

describe('the agent’s baseUrl (row S)', () => {
  it('is checked with the options', async () => {
    const kind = await runtime({
      policy: {},
      answers: { 'inside.test': ['10.0.0.1'], 'public.test': ['1.1.1.1'] },
    })
    const problemOf = async (baseUrl: string) => {
      const parsed = await kind.parseOptions({ baseUrl, model: 'm' })
      return parsed.ok ? undefined : parsed.error
    }
    expect(await problemOf('https://127.0.0.1/v1')).toBe(
      'baseUrl must not point to a private or reserved address that this service does not allow',
    )
    expect(await problemOf('https://inside.test/v1')).toBe(
      'baseUrl must not resolve to a private or reserved address that this service does not allow',
    )
    expect(await problemOf('http://public.test/v1')).toBe('baseUrl must use https')
    expect(await problemOf('https://public.test/v1/')).toBeUndefined()
    expect(unwrapError(await kind.parseOptions({}))).toBe('baseUrl is required')
  })

  it('is checked again at the start and at every dial', async () => {
    const inside = await rawServer((socket) => socket.write(http('200 OK', '{}')))
    closing.push(inside.close)
    const answers = { 'rebinding.test': ['127.0.0.1'] }
    const kind = await runtime({ policy: { allowHttp: true }, answers })
    const options = { baseUrl: `http://rebinding.test:${inside.port}/v1`, model: 'm' }
    const start = () =>
      kind.start(
        { agent: anAgent({ runtime: { kind: 'openai', options } }), secrets: {} },
        () => undefined,
      )
    expect(unwrapError(await start())).toEqual({
      code: 'RUNTIME_EXITED',
      message:
        'baseUrl must not resolve to a private or reserved address that this service does not allow',
    })
    answers['rebinding.test'] = ['1.1.1.1']
    const agent = unwrap(await start())
    answers['rebinding.test'] = ['127.0.0.1']
    expect(await agent.run(aRunRequest(), never)).toEqual(
      failed('RUNTIME_ERROR', /\(address_blocked\)/),
    )
    expect(await agent.health(never)).toEqual({
      ok: false,
      detail: 'the name resolves to a private or reserved address that this service does not allow',
    })
    expect(inside.connections).toBe(0)
  })
})

describe('the health check', () => {
  it('passes for any status below 500', async () => {
    const chat = await server()
    const agent = await running({ baseUrl: `${chat.baseUrl}//`, apiKey: KEY })
    expect(await agent.health(never)).toEqual({ ok: true })
    expect(chat.requests[0]).toMatchObject({
      method: 'GET',
      path: '/v1/models',
      headers: { authorization: `Bearer ${KEY}` },
    })
    const failing = await rawServer((socket) => socket.write(http('503 Busy')))
    closing.push(failing.close)
    const unwell = await running({ baseUrl: failing.url })
    expect(await unwell.health(never)).toEqual({ ok: false, detail: 'the server answered 503' })
    await chat.close()
    closing.splice(closing.indexOf(chat.close), 1)
    const gone = await running({ baseUrl: chat.baseUrl })
    expect(await gone.health(never)).toEqual({ ok: false, detail: 'no connection (ECONNREFUSED)' })
  })

  it('passes while the server is busy with a run', async () => {
    const silent = await rawServer((socket) => void socket)
    closing.push(silent.close)
    const agent = await running({ baseUrl: silent.url })
    const aborter = new AbortController()
    const run = agent.run(aRunRequest(), aborter.signal)
    expect(await agent.health(never)).toEqual({ ok: true })
    aborter.abort()
    await run
  })

  it('fails for an idle server without a response and a busy one that is down', async () => {
    let fault = new Fault('timeout', 'no complete response')
    const fetch = (url: unknown, { signal }: RequestInit = {}): Promise<Response> =>
      String(url).endsWith('/models')
        ? Promise.reject(fault)
        : new Promise((_, reject) =>
            signal?.addEventListener('abort', () => reject(signal.reason as Error)),
          )
    const kind = openaiRuntime({ fetch, vet: async () => success(undefined), crypto })
    const agent = anAgent({
      runtime: { kind: 'openai', options: { baseUrl: 'https://models.example', model: 'parrot' } },
    })
    const model = unwrap(await kind.start({ agent, secrets: {} }, () => undefined))
    expect(await model.health(never)).toEqual({ ok: false, detail: 'no complete response' })
    const aborter = new AbortController()
    const run = model.run(aRunRequest(), aborter.signal)
    expect(await model.health(never)).toEqual({ ok: true })
    fault = new Fault('connect', 'no connection (ECONNREFUSED)')
    expect(await model.health(never)).toEqual({ ok: false, detail: 'no connection (ECONNREFUSED)' })
    aborter.abort()
    await run
  })
})
