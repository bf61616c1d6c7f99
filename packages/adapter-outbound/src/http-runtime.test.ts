import type { JsonObject } from '@org/agent-messaging-core'
import {
  success,
  defaultLimits,
  newSecret,
  parseRemoteOptions,
} from '@org/agent-messaging-core/runtime'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { anAgent, aRunRequest, unwrap, unwrapError } from '@org/agent-messaging-testing'
import { verify } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { dnsServer } from '../test/dns-server.js'
import { eventually } from '../test/eventually.js'
import { http, rawServer, type RawServer } from '../test/raw-server.js'
import { addressGuard, type AddressPolicy } from './address-guard.js'
import { httpRuntime, type HttpRuntimeOptions } from './http-runtime.js'
import { outboundHttp } from './outbound-http.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const { clock, crypto } = nodePlatform({ masterKey: new Uint8Array(32) })
const signingSecret = newSecret(crypto.randomBytes)
const never = new AbortController().signal
const request = aRunRequest({
  messageId: 'message-1',
  agentId: 'agent-1',
  sessionId: 'session-1',
  message: 'Hello, Zoë 🎈',
  attempt: 2,
  runToken: 'amr_token',
  executionPrincipal: { type: 'end_user', endUserId: 'u-1' },
  metadata: { channel: 'web', nested: { a: [1] } },
})

type Setting = Partial<HttpRuntimeOptions> & {
  readonly policy?: AddressPolicy
  readonly answers?: Parameters<typeof dnsServer>[0]
}

async function runtime({
  policy = { allowLoopback: true },
  answers = {},
  ...options
}: Setting = {}) {
  const dns = await dnsServer(answers)
  const sender = outboundHttp({ guard: addressGuard(policy), dnsServers: [dns.address] })
  closing.push(dns.close, sender.close)
  return {
    dns,
    runtime: httpRuntime({
      http: sender,
      crypto,
      clock,
      publicUrl: () => 'https://messages.example/base/',
      ...options,
    }),
  }
}

async function running(
  url: string,
  {
    options = {},
    headers = {},
    ...setting
  }: Setting & { options?: Record<string, number>; headers?: Record<string, string> } = {},
) {
  const { runtime: kind } = await runtime(setting)
  const agent = anAgent({ runtime: { kind: 'http', options: { url, ...options } } })
  const started = await kind.start({ agent, secrets: { signingSecret, headers } }, () => undefined)
  return unwrap(started)
}

async function receiver(answer: Parameters<typeof rawServer>[0]): Promise<RawServer> {
  const server = await rawServer(answer)
  closing.push(server.close)
  return server
}

/** The outcome of a run when the agent's server sends exactly this text. */
async function outcomeOf(answer: string, setting: Parameters<typeof running>[1] = {}) {
  const server = await receiver((socket) => socket.write(answer))
  return (await running(server.url, setting)).run(request, never)
}

describe('a run request', () => {
  async function sent(setting: Parameters<typeof running>[1] = {}, run = request) {
    const server = await receiver((socket) => socket.write(http('200 OK', '{"response":"Hi"}')))
    const agent = await running(server.url, setting)
    expect(await agent.run(run, never)).toEqual({ kind: 'answered', response: 'Hi' })
    const [head = '', body = ''] = server.requests[0]?.split('\r\n\r\n') ?? []
    const headers = Object.fromEntries(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(': ')),
    ) as Record<string, string>
    return { headers, body: Buffer.from(body, 'latin1').toString('utf8') }
  }

  it('carries the message, its principal and the callback', async () => {
    const { body } = await sent()
    expect(JSON.parse(body)).toEqual({
      messageId: 'message-1',
      agentId: 'agent-1',
      sessionId: 'session-1',
      message: 'Hello, Zoë 🎈',
      attempt: 2,
      metadata: { channel: 'web', nested: { a: [1] } },
      executionPrincipal: { type: 'end_user', endUserId: 'u-1' },
      callback: {
        url: 'https://messages.example/base/v1/agents/agent-1/messages/message-1/response',
        token: 'amr_token',
      },
    })
  })

  it('carries the parts and the schema of the answer', async () => {
    const parts = [
      { type: 'data', name: 'order', data: { total: 7 } },
      { type: 'file', url: 'https://files.example/a.png', mediaType: 'image/png' },
    ] as const
    const responseSchema = { type: 'object' }
    const { body } = await sent({}, { ...request, parts, responseSchema })
    expect(JSON.parse(body)).toMatchObject({ message: request.message, parts, responseSchema })
    const { runtime: kind } = await runtime({})
    expect(parts.map((part) => kind.accepts?.(part, {}))).toEqual([undefined, undefined])
    expect(kind.takesResponseSchema).toBe(true)
  })

  it('omits absent metadata, and the callback URL when the service has no public URL', async () => {
    const { metadata: _, ...bare } = request
    const { body } = await sent({ publicUrl: () => undefined }, bare)
    const parsed = JSON.parse(body) as Record<string, unknown>
    expect(parsed['callback']).toEqual({ token: 'amr_token' })
    expect(parsed).not.toHaveProperty('metadata')
  })

  it('verifies with @octokit/webhooks-methods and standardwebhooks', async () => {
    const { headers, body } = await sent({ headerPrefix: 'X-Acme' })
    expect(await verify(signingSecret, body, headers['X-Acme-Signature'] ?? '')).toBe(true)
    expect(
      await verify(signingSecret, body.replace('Zoë', 'Zoe'), headers['X-Acme-Signature'] ?? ''),
    ).toBe(false)
    expect(new Webhook(signingSecret).verify(body, headers)).toEqual(JSON.parse(body))
    expect(headers).toMatchObject({
      'X-Acme-Event': 'message.run',
      'X-Acme-Delivery': 'message-1.2',
      'webhook-id': 'message-1.2',
    })
  })

  it('carries the agent’s headers and the service’s', async () => {
    const { headers } = await sent({
      headers: { Authorization: 'Bearer secret', 'X-Tenant': 'Zoë' },
    })
    expect(headers).toMatchObject({
      Authorization: 'Bearer secret',
      'X-Tenant': 'Zoë',
      'idempotency-key': 'message-1',
      'content-type': 'application/json',
    })
  })

  it('replaces forged signature headers', async () => {
    const forged = { 'x-acme-signature': 'forged', 'X-Acme-Event': 'forged' }
    const { headers, body } = await sent({ headerPrefix: 'X-Acme', headers: forged })
    expect(Object.values(headers)).not.toContain('forged')
    expect(await verify(signingSecret, body, headers['X-Acme-Signature'] ?? '')).toBe(true)
  })
})

it('a run request carries the client’s trace, and no other', async () => {
  const trace = {
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    tracestate: 'a=1',
  }
  const server = await receiver((socket) => socket.write(http('200 OK', '{"response":"Hi"}')))
  const agent = await running(server.url)
  await agent.run({ ...request, trace }, never)
  await agent.run(request, never)
  expect(server.requests[0]).toContain(`traceparent: ${trace.traceparent}\r\ntracestate: a=1\r\n`)
  expect(server.requests[1]).not.toContain('trace')
})

describe('an agent’s answer', () => {
  it('of 200 is the response, and other fields are ignored', async () => {
    expect(await outcomeOf(http('200 OK', '{"response":"Grüße 🎈","usage":{"tokens":7}}'))).toEqual(
      {
        kind: 'answered',
        response: 'Grüße 🎈',
      },
    )
    expect(await outcomeOf(http('200 OK', '\uFEFF {"response":""}'))).toEqual({
      kind: 'answered',
      response: '',
    })
    const long = 'ä'.repeat(1024 * 1024)
    expect(await outcomeOf(http('200 OK', JSON.stringify({ response: long })))).toEqual({
      kind: 'answered',
      response: long,
    })
  })

  it.each([
    '',
    'Hi',
    '"Hi"',
    'null',
    '[]',
    '{}',
    '{"response":null}',
    '{"response":7}',
    '{"Response":"Hi"}',
    '{"response":"Hi"',
    '{"response":"Hi"}x',
    '['.repeat(100_000),
    `{"response":"Hi","more":${'['.repeat(64)}${']'.repeat(64)}}`,
    `{"response":"Hi","more":[${'1,'.repeat(20_000)}1]}`,
  ])('of 200 with another body is invalid and not retried (%#)', async (body) => {
    const error = {
      code: 'RESPONSE_INVALID',
      message: 'the runtime\'s answer must be JSON of the form {"response": "text"}',
    }
    expect(await outcomeOf(http('200 OK', body))).toEqual({
      kind: 'failed',
      retryable: false,
      error,
    })
  })

  it.each(['', '{"resp', '{"response":"Hi"'])(
    'without a length that is not valid JSON is retried: %j',
    async (body) => {
      const cut = await receiver((socket) => void socket.end(`HTTP/1.0 200 OK\r\n\r\n${body}`))
      expect(await (await running(cut.url)).run(request, never)).toEqual({
        kind: 'failed',
        retryable: true,
        error: {
          code: 'RUNTIME_ERROR',
          message:
            "the runtime's answer is incomplete JSON without a Content-Length, so it can be cut off",
        },
      })
    },
  )

  it('without a length is accepted if it is valid JSON', async () => {
    const whole = await receiver(
      (socket) => void socket.end('HTTP/1.0 200 OK\r\n\r\n{"response":"Hi"}'),
    )
    expect(await (await running(whole.url)).run(request, never)).toEqual({
      kind: 'answered',
      response: 'Hi',
    })
    const other = await receiver(
      (socket) => void socket.end('HTTP/1.0 200 OK\r\n\r\n{"Response":"Hi"}'),
    )
    expect(await (await running(other.url)).run(request, never)).toMatchObject({
      error: { code: 'RESPONSE_INVALID' },
      retryable: false,
    })
  })

  it('that is not UTF-8 is invalid', async () => {
    const server = await receiver((socket) =>
      socket.write(
        Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"response":"\xff"}', 'latin1'),
      ),
    )
    expect(await (await running(server.url)).run(request, never)).toMatchObject({
      error: { code: 'RESPONSE_INVALID' },
      retryable: false,
    })
  })

  it('can have the longest text with every character escaped', async () => {
    const length = defaultLimits.responseLength
    const answer = http('200 OK', `{"response": "${'\\u0633'.repeat(length)}"}`)
    const outcome = await outcomeOf(answer)
    expect(outcome.kind === 'answered' ? outcome.response.length : outcome).toBe(length)
  })

  it('beyond the limit is invalid and not read further', async () => {
    const server = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const more = () => {
        while (!socket.destroyed && socket.write(`400\r\n${'y'.repeat(1_024)}\r\n`));
      }
      socket.on('drain', more)
      more()
    })
    const agent = await running(server.url, { maxAnswerBytes: 100_000 })
    const error = {
      code: 'RESPONSE_INVALID',
      message: "the runtime's answer has more than 100000 bytes",
    }
    expect(await agent.run(request, never)).toEqual({ kind: 'failed', retryable: false, error })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it.each([
    ['', {}],
    ['{"deadlineMs":5000}', { deadlineMs: 5_000 }],
    ['{"deadlineMs":0}', {}],
    ['{"deadlineMs":-1}', {}],
    ['{"deadlineMs":1.5}', {}],
    ['{"deadlineMs":"5000"}', {}],
    ['{"deadlineMs":1e400}', {}],
    ['accepted', {}],
  ])('of 202 with %j promises an answer later', async (body, more) => {
    expect(await outcomeOf(http('202 Accepted', body))).toEqual({ kind: 'deferred', ...more })
  })

  it('can report the tokens that the run used', async () => {
    const usage = { inputTokens: 12, outputTokens: 3 }
    expect(await outcomeOf(http('200 OK', JSON.stringify({ response: 'Hi', usage })))).toEqual({
      kind: 'answered',
      response: 'Hi',
      usage,
    })
    const wrong = { response: 'Hi', usage: { inputTokens: '12', outputTokens: -1 } }
    expect(await outcomeOf(http('200 OK', JSON.stringify(wrong)))).toEqual({
      kind: 'answered',
      response: 'Hi',
    })
  })

  it('with a question asks a person', async () => {
    const question = { question: 'Pay?', schema: { type: 'boolean' }, expiresInMs: 60_000 }
    expect(await outcomeOf(http('200 OK', JSON.stringify(question)))).toEqual({
      kind: 'input_required',
      ...question,
    })
    expect(await outcomeOf(http('200 OK', '{"question":""}'))).toMatchObject({
      kind: 'failed',
      error: { code: 'QUESTION_INVALID', message: 'the question has no text' },
    })
  })

  it.each([408, 425, 429, 500, 502, 503, 504, 599])('of %d is retried', async (status) => {
    const error = { code: 'RUNTIME_ERROR', message: `the runtime answered ${status}` }
    expect(await outcomeOf(http(`${status} No`, 'secret reason'))).toEqual({
      kind: 'failed',
      retryable: true,
      error,
    })
  })

  it.each([301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 422])(
    'of %d is final',
    async (status) => {
      const elsewhere = await receiver((socket) =>
        socket.write(http('200 OK', '{"response":"stolen"}')),
      )
      const error = { code: 'RUNTIME_ERROR', message: `the runtime answered ${status}` }
      expect(await outcomeOf(http(`${status} No`, '', `location: ${elsewhere.url}`))).toEqual({
        kind: 'failed',
        retryable: false,
        error,
      })
      expect(elsewhere.connections).toBe(0)
    },
  )

  it.each([429, 503])('of %d with Retry-After delays the retry', async (status) => {
    const error = { code: 'RUNTIME_ERROR', message: `the runtime answered ${status}` }
    const outcome = await outcomeOf(http(`${status} Busy`, '', 'retry-after: 20'))
    expect(outcome).toEqual({ kind: 'failed', retryable: true, error, retryInMs: 20_000 })
  })

  it.each([201, 204, 206])('of %d is invalid', async (status) => {
    const error = {
      code: 'RESPONSE_INVALID',
      message: `the runtime answered ${status} instead of 200 or 202`,
    }
    expect(await outcomeOf(http(`${status} Hm`))).toEqual({
      kind: 'failed',
      retryable: false,
      error,
    })
  })

  it('that exceeds the agent’s timeout is retried', async () => {
    const server = await receiver((socket) => void socket)
    const agent = await running(server.url, { options: { timeoutMs: 100 } })
    const error = {
      code: 'RUNTIME_TIMEOUT',
      message: 'the runtime did not answer: no complete response within 100 ms',
    }
    expect(await agent.run(request, never)).toEqual({ kind: 'failed', retryable: true, error })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('that breaks off or never begins is retried', async () => {
    const breaking = await receiver((socket) => socket.resetAndDestroy())
    expect(await (await running(breaking.url)).run(request, never)).toMatchObject({
      error: { code: 'RUNTIME_ERROR', message: expect.stringContaining('(reset)') as string },
      retryable: true,
    })
    const gone = await rawServer((socket) => void socket)
    await gone.close()
    expect(await (await running(gone.url)).run(request, never)).toMatchObject({
      error: { code: 'RUNTIME_ERROR', message: expect.stringContaining('(connect)') as string },
      retryable: true,
    })
  })
})

describe('a streamed answer', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n'
  const event = (name: string, data: unknown) =>
    `event: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
  const answer = event('answer', { response: 'Hi' })
  const LOST = {
    kind: 'failed',
    retryable: true,
    error: { code: 'RUNTIME_ERROR', message: expect.stringContaining('(reset)') as string },
  }

  /** The outcome and what the run emits if the agent's server sends exactly this text. */
  async function runOf(text: string, setting: Parameters<typeof running>[1] = {}) {
    const server = await receiver((socket) => void socket.end(HEAD + text))
    const emitted: unknown[] = []
    const agent = await running(server.url, setting)
    const outcome = await agent.run({ ...request, emit: (one) => emitted.push(one) }, never)
    return { outcome, emitted, server }
  }

  it('emits its chunks and parts in their order', async () => {
    const call = { toolCallId: 'c1', toolName: 'look' }
    const parts = [
      { type: 'tool-input-available', ...call, input: {} },
      { type: 'tool-output-available', toolCallId: 'c1', output: 'cat' },
    ]
    const [input, output] = parts.map((part) => event('part', { part }))
    const chunk = event('chunk', { text: 'Hi' })
    const { outcome, emitted, server } = await runOf(
      `: hello\n\n${input}${chunk}${output}${answer}`,
    )
    expect(outcome).toEqual({ kind: 'answered', response: 'Hi' })
    expect(emitted).toEqual([parts[0], 'Hi', parts[1]])
    expect(server.requests[0]).toContain('accept: application/json, text/event-stream\r\n')
  })

  it('is not asked for by an agent with an Accept header of its own', async () => {
    const headers = { Accept: 'application/json' }
    const { server } = await runOf(answer, { headers })
    expect(server.requests[0]).toMatch(/^Accept: application\/json\r$/m)
    expect(server.requests[0]).not.toContain('text/event-stream')
  })

  it('ends the run and the connection, even if the agent goes on', async () => {
    const server = await receiver((socket) => socket.write(HEAD + answer))
    expect(await (await running(server.url)).run(request, never)).toEqual({
      kind: 'answered',
      response: 'Hi',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('can be a question, and have the tokens of the run', async () => {
    const usage = { inputTokens: 12, outputTokens: 3 }
    const { outcome } = await runOf(event('answer', { question: 'Pay?', usage }))
    expect(outcome).toEqual({ kind: 'input_required', question: 'Pay?', usage })
  })

  it('is not failed by wrong events before it', async () => {
    const lone = event('part', '{"part":{"type":"reasoning-delta","id":"r","text":"\\ud83d"}}')
    const wrong = [
      event('chunk', '{"te'),
      event('chunk', { text: 1 }),
      event('chunk', ['Hi']),
      event('part', { part: 'text' }),
      event('part', { type: 'finish-step' }),
      event('part', {
        part: { type: 'data', name: 'n', data: Array.from({ length: 10_001 }, () => 1) },
      }),
      event('later', { text: 'Hi' }),
      'data: {"text":"Hi"}\n\n',
      lone,
    ]
    const { outcome, emitted } = await runOf(wrong.join('') + answer)
    expect(outcome).toEqual({ kind: 'answered', response: 'Hi' })
    // The service reports an empty part in its log.
    const reported = [{}, {}, {}]
    expect(emitted).toEqual([...reported, { type: 'reasoning-delta', id: 'r', text: '\ud83d' }])
  })

  it('can be the last bytes of the stream', async () => {
    expect((await runOf(answer.trimEnd())).outcome).toEqual({ kind: 'answered', response: 'Hi' })
  })

  it.each(['', event('chunk', { text: 'Hi' }), answer.trimEnd().slice(0, -1)])(
    'that breaks off after %j is retried',
    async (text) => {
      expect((await runOf(text)).outcome).toEqual(LOST)
    },
  )

  it('of a connection that breaks is retried', async () => {
    const head = HEAD.replace('\r\n\r\n', '\r\ncontent-length: 1000\r\n\r\n')
    const server = await receiver((socket) => void socket.end(head + event('chunk', {})))
    expect(await (await running(server.url)).run(request, never)).toEqual(LOST)
  })

  it.each([event('answer', '{"respo'), event('answer', {}), event('answer', ['Hi'])])(
    'of %j is invalid',
    async (text) => {
      expect((await runOf(text + answer)).outcome).toMatchObject({
        kind: 'failed',
        retryable: false,
        error: { code: 'RESPONSE_INVALID' },
      })
    },
  )

  it('with an event beyond the limit is invalid and not read further', async () => {
    const text = 'x'.repeat(200_000)
    const server = await receiver((socket) => socket.write(HEAD + event('chunk', { text })))
    const agent = await running(server.url, { maxAnswerBytes: 100_000 })
    expect(await agent.run(request, never)).toEqual({
      kind: 'failed',
      retryable: false,
      error: {
        code: 'RESPONSE_INVALID',
        message: 'the response has an event of more than 100000 characters',
      },
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('that exceeds the agent’s timeout, or is called off, ends', async () => {
    const server = await receiver((socket) => socket.write(HEAD + event('chunk', { text: 'Hi' })))
    const late = await running(server.url, { options: { timeoutMs: 100 } })
    const TIMEOUT_ERROR = { retryable: true, error: { code: 'RUNTIME_TIMEOUT' } }
    expect(await late.run(request, never)).toMatchObject(TIMEOUT_ERROR)
    const aborter = new AbortController()
    const emit = () => aborter.abort(new Error('cancelled'))
    const agent = await running(server.url)
    expect(await agent.run({ ...request, emit }, aborter.signal)).toMatchObject(TIMEOUT_ERROR)
    const stopped = await running(server.url)
    const ended = stopped.run({ ...request, emit: () => void stopped.stop() }, never)
    expect(await ended).toMatchObject(TIMEOUT_ERROR)
    await eventually('the connections end', () => server.open.size === 0)
  })
})

describe('a run', () => {
  it('ends with its signal, and closes its connection', async () => {
    const server = await receiver((socket) => void socket)
    const agent = await running(server.url)
    const aborter = new AbortController()
    const run = agent.run(request, aborter.signal)
    await eventually('the request', () => server.requests.length === 1)
    aborter.abort()
    expect(await run).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_TIMEOUT' } })
    await eventually('the connection ends', () => server.open.size === 0)
    expect(await agent.run(request, aborter.signal)).toMatchObject({ kind: 'failed' })
    expect(server.requests.length).toBe(1)
  })

  it('ends when its agent stops', async () => {
    const server = await receiver((socket) => void socket)
    const agent = await running(server.url)
    const runs = Promise.all([
      agent.run(request, never),
      agent.run(request, never),
      agent.health(never),
    ])
    await eventually('the requests', () => server.requests.length === 3)
    await agent.stop()
    expect(await runs).toMatchObject([{ kind: 'failed' }, { kind: 'failed' }, { ok: false }])
    await eventually('the connections end', () => server.open.size === 0)
  })
})

describe('the agent’s URL (row S)', () => {
  it('is checked with the options', async () => {
    const { runtime: kind } = await runtime({
      policy: {},
      answers: { 'inside.test': ['10.0.0.1'], 'public.test': ['1.1.1.1'] },
    })
    const problemOf = async (url: string) => {
      const parsed = await kind.parseOptions({ url })
      return parsed.ok ? undefined : parsed.error
    }
    expect(await problemOf('https://127.0.0.1/')).toBe(
      'url must not point to a private or reserved address that this service does not allow',
    )
    expect(await problemOf('https://inside.test/')).toBe(
      'url must not resolve to a private or reserved address that this service does not allow',
    )
    expect(await problemOf('http://public.test/')).toBe('url must use https')
    expect(await problemOf('https://public.test/')).toBeUndefined()
    expect(await problemOf('https://not-yet.test/')).toBeUndefined()
    expect(
      unwrapError(await kind.parseOptions({ url: 'https://public.test/', headers: { Host: 'x' } })),
    ).toBe('headers.Host is set by the service itself')
  })

  it('is checked again at the start, without a connection', async () => {
    const server = await receiver((socket) => socket.write(http('200 OK', '{"response":"Hi"}')))
    const { runtime: kind } = await runtime({
      policy: { allowHttp: true },
      answers: { 'inside.test': ['127.0.0.1'] },
    })
    for (const url of [server.url, `http://inside.test:${server.port}/`]) {
      const started = await kind.start(
        {
          agent: anAgent({ runtime: { kind: 'http', options: { url } } }),
          secrets: { signingSecret },
        },
        () => undefined,
      )
      expect(unwrapError(started)).toMatchObject({
        code: 'RUNTIME_EXITED',
        message: expect.stringMatching(/^url must not (point|resolve) to/) as string,
      })
    }
    await running(server.url)
    expect(server.connections).toBe(0)
  })

  it('is checked at every dial, so that DNS rebinding fails the run', async () => {
    const server = await receiver((socket) => socket.write(http('200 OK', '{"response":"Hi"}')))
    const answers = { 'rebinding.test': ['1.1.1.1'] }
    const agent = await running(`http://rebinding.test:${server.port}/`, {
      policy: { allowHttp: true },
      answers,
    })
    answers['rebinding.test'] = ['127.0.0.1']
    expect(await agent.run(request, never)).toMatchObject({
      kind: 'failed',
      retryable: false,
      error: { code: 'RUNTIME_ERROR' },
    })
    expect(server.connections).toBe(0)
  })

  it('needs a signing secret at the start', async () => {
    const { runtime: kind } = await runtime()
    const agent = anAgent({ runtime: { kind: 'http', options: { url: 'http://127.0.0.1:1/' } } })
    expect(unwrapError(await kind.start({ agent, secrets: {} }, () => undefined))).toMatchObject({
      code: 'RUNTIME_EXITED',
    })
  })
})

describe('the health check', () => {
  it('passes when the agent’s server responds, and fails when it does not', async () => {
    const server = await receiver((socket) =>
      socket.write(http('405 Method Not Allowed', 'no such method')),
    )
    const agent = await running(server.url)
    expect(await agent.health(never)).toEqual({ ok: true })
    expect(server.requests[0]).toMatch(/^OPTIONS \/hook HTTP\/1\.1\r\n/)
    await server.close()
    closing.pop()
    expect(await agent.health(never)).toEqual({
      ok: false,
      detail: 'connect: no connection (ECONNREFUSED)',
    })
  })

  it('passes while the agent’s server is busy with a run', async () => {
    const server = await receiver((socket) => void socket)
    const agent = await running(server.url)
    expect(await agent.health(AbortSignal.timeout(100))).toMatchObject({ ok: false })
    const aborter = new AbortController()
    const run = agent.run(request, aborter.signal)
    expect(await agent.health(never)).toEqual({ ok: true })
    aborter.abort()
    await run
    expect(await agent.health(AbortSignal.timeout(100))).toMatchObject({ ok: false })
  })

  it('fails when an idle server does not respond in time', async () => {
    const late = { kind: 'unreachable', error: 'timeout', detail: 'no complete response' } as const
    const kind = httpRuntime({
      crypto,
      clock,
      publicUrl: () => undefined,
      http: {
        send: async () => late,
        sendOrStream: async () => late,
        vet: async () => success(undefined),
      },
    })
    const agent = anAgent({ runtime: { kind: 'http', options: { url: 'https://agent.example/' } } })
    const started = await kind.start({ agent, secrets: { signingSecret } }, () => undefined)
    expect(await unwrap(started).health(never)).toEqual({
      ok: false,
      detail: 'timeout: no complete response',
    })
  })
})

const url = 'https://agent.example/run'
const TIMEOUT = 'timeoutMs must be a whole number from 1 to 86400000'
const parse = (options: JsonObject) => parseRemoteOptions('http', options, 'X-Service')
const problemOf = (options: JsonObject) => {
  const parsed = parse(options)
  return parsed.ok ? undefined : parsed.error
}
const headers = (name: string, value = 'x') => ({ url, headers: { [name]: value } })

describe('options of an http agent', () => {
  it('can be shown without the headers', () => {
    const parsed = unwrap(
      parse({
        url,
        timeoutMs: 30_000,
        headers: { Authorization: 'Bearer secret', 'X-Tenant': 'Zoë' },
      }),
    )
    expect(parsed.options).toEqual({ url, timeoutMs: 30_000, headers: { set: true } })
    expect(parsed.secrets).toEqual({
      headers: { Authorization: 'Bearer secret', 'X-Tenant': 'Zoë' },
    })
    expect(JSON.stringify(parsed.options)).not.toMatch(/secret|Tenant/)
  })

  it('need only a url', () => {
    expect(unwrap(parse({ url }))).toEqual({ url, options: { url }, secrets: {} })
  })

  it.each<[JsonObject, string]>([
    [{}, 'url is required'],
    [{ url: 7 }, 'url must be a string'],
    [{ url, color: 'red' }, 'color is not an option of http agents'],
    [{ url, timeoutMs: '5' }, TIMEOUT],
    [{ url, timeoutMs: 1.5 }, TIMEOUT],
    [{ url, timeoutMs: 0 }, TIMEOUT],
    [{ url, timeoutMs: 86_400_001 }, TIMEOUT],
    [{ url, headers: ['a'] }, 'headers must be an object'],
    [{ url, headers: 'a: b' }, 'headers must be an object'],
    [{ url, headers: { set: true } }, 'headers.set must be a string'],
    [{ url, headers: { 'X-A': null } }, 'headers.X-A must be a string'],
  ])('%j: %s', (options, problem) => expect(problemOf(options)).toBe(problem))

  it.each(['', 'a b', 'a\r\nb', 'a:b', 'ü', 'a\0', 'a'.repeat(129)])(
    'reject the header name %j',
    (name) => {
      expect(problemOf(headers(name))).toBe(
        "headers must have names of 1 to 128 characters, each a letter, a digit or one of !#$%&'*+-.^_`|~",
      )
    },
  )

  it.each(['a\r\nb: c', 'a\nb', 'a\0b', '→', '\x7f', '\ud800'])(
    'reject the header value %j',
    (value) => {
      expect(problemOf(headers('X-A', value))).toBe(
        'headers.X-A must not contain line breaks, control characters or characters beyond Latin-1',
      )
    },
  )

  it('reject long values and too many headers', () => {
    expect(problemOf(headers('X-A', 'x'.repeat(8_192)))).toBeUndefined()
    expect(problemOf(headers('X-A', 'x'.repeat(8_193)))).toBe(
      'headers.X-A must have at most 8192 characters',
    )
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, 'x']))
    expect(problemOf({ url, headers: many })).toBe('headers must be at most 32')
  })

  const ours = [
    'Content-Type',
    'content-length',
    'HOST',
    'Transfer-Encoding',
    'connection',
    'Keep-Alive',
    'upgrade',
    'Expect',
    'TE',
    'trailer',
    'accept-encoding',
    'user-agent',
  ]
  it.each([
    ...ours,
    'Idempotency-Key',
    'webhook-id',
    'Webhook-Signature',
    'webhook-timestamp',
    'X-Service-Signature',
    'x-service-anything',
  ])('reject %s, which the service sets', (name) => {
    expect(problemOf(headers(name))).toBe(`headers.${name} is set by the service itself`)
  })

  it('reject headers with the operator’s prefix', () => {
    expect(!parseRemoteOptions('http', headers('X-Acme-Event'), 'X-Acme').ok).toBe(true)
    expect(parseRemoteOptions('http', headers('X-Service-Event'), 'X-Acme').ok).toBe(true)
  })

  it('are not changed by a header named __proto__', () => {
    const parsed = parse(
      JSON.parse(`{"url":"${url}","headers":{"__proto__":"x","X-A":"y"}}`) as JsonObject,
    )
    expect(parsed.ok && Object.getPrototypeOf(parsed.value.secrets['headers'])).toBe(
      Object.prototype,
    )
    expect(({} as Record<string, unknown>)['X-A']).toBeUndefined()
  })
})
