import { setTimeout as sleep } from 'node:timers/promises'
import {
  aRunRequest,
  anAgent,
  recordingTelemetry,
  unwrap,
  unwrapError,
} from '@org/agent-messaging-testing'
import { failure, success, type RunError, type RunRequest } from '@org/agent-messaging-core/runtime'
import { afterEach, describe, expect, it } from 'vitest'
import { startSdkAgent, type SdkAgent } from '../test/sdk-agent.js'
import { a2aRuntime, type A2aRuntimeOptions } from './a2a-runtime.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const never = new AbortController().signal
const clock = {
  sleep: (_ms: number, signal?: AbortSignal) =>
    sleep(1, undefined, { ...(signal && { signal }) }).catch(() => undefined),
}
const runtime = (options: Partial<A2aRuntimeOptions> = {}) =>
  a2aRuntime({ fetch, vet: async () => success(undefined), clock, ...options })

async function remote(options?: Parameters<typeof startSdkAgent>[0]): Promise<SdkAgent> {
  const agent = await startSdkAgent(options)
  closing.push(agent.close)
  return agent
}

type Setting = Pick<A2aRuntimeOptions, 'telemetry'> & {
  readonly options?: object
  readonly headers?: Record<string, string>
}

async function start(
  { url }: { readonly url: string },
  { options = {}, headers = {}, telemetry }: Setting = {},
) {
  const agent = anAgent({ runtime: { kind: 'a2a', options: { url, ...options } } })
  return runtime({ telemetry }).start({ agent, secrets: { headers } }, (_: RunError) => undefined)
}

async function running(agent: SdkAgent, setting?: Parameters<typeof start>[1]) {
  return unwrap(await start(agent, setting))
}

/** A session that keeps its state, like the service's. */
function session() {
  const session = { state: undefined as string | undefined, kept: [] as string[] }
  const request = (message: string, more: Partial<RunRequest> = {}) =>
    aRunRequest({
      message,
      ...(session.state !== undefined && { sessionState: session.state }),
      remember: async (state) => {
        session.state = state
        session.kept.push(state)
      },
      ...more,
    })
  return { session, request }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; !isTrue(); tries++) {
    if (tries > 12_000) throw new Error('the condition never became true')
    await sleep(5)
  }
}

const legacyCard = (url: string, version = '0.3.0') => ({
  name: 'old agent',
  description: 'for tests',
  version: '1',
  protocolVersion: version,
  url,
  preferredTransport: 'JSONRPC',
  capabilities: {},
  skills: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
})

describe('a turn of an A2A agent', () => {
  it('starts a task without blocking and returns its artifacts', async () => {
    const agent = await remote()
    const outcome = await (await running(agent)).run(session().request('one|two'), never)
    expect(outcome).toEqual({ kind: 'answered', response: 'one\n\ntwo' })
    expect(agent.received.map(({ messageId }) => messageId)).toHaveLength(1)
  })
  it('returns the agent’s message if the agent creates no task', async () => {
    const outcome = await (
      await running(await remote())
    ).run(session().request('reply hello'), never)
    expect(outcome).toEqual({ kind: 'answered', response: 'hello' })
  })
  it.each([
    ['raw:a|raw:b', '2 × file (image/png)'],
    ['reply raw:a', '1 × file (image/png)'],
    ['ask data:{"choose":"one"}', '1 × data (application/json)'],
  ])('fails and says what came when the service can keep nothing: %s', async (message, sent) => {
    const outcome = await (await running(await remote())).run(session().request(message), never)
    expect(outcome).toEqual({
      kind: 'failed',
      error: {
        code: 'RESPONSE_INVALID',
        message: `the agent sent no text, only ${sent}, which this service does not keep`,
      },
      retryable: false,
    })
  })
  it('emits the data and files of the answer, and reports files with bytes', async () => {
    const telemetry = recordingTelemetry()
    const agent = await running(await remote(), { telemetry })
    const emitted: unknown[] = []
    const named = '{"total":8,"metadata":{"name":"order","id":"o-1"}}'
    const request = session().request(
      `seven|data:{"total":7}|url:https://files.example/a|raw:a|data:${named}`,
      { messageId: 'm-1', emit: (one) => emitted.push(one) },
    )
    expect(await agent.run(request, never)).toEqual({ kind: 'answered', response: 'seven' })
    expect(emitted).toEqual([
      'seven',
      { type: 'data', name: 'data', data: { total: 7 } },
      {
        type: 'file',
        url: 'https://files.example/a',
        mediaType: 'application/octet-stream',
        filename: 'a.bin',
      },
      { type: 'data', name: 'order', id: 'o-1', data: JSON.parse(named) as unknown },
    ])
    expect(telemetry.facts).toMatchObject([
      { name: 'answer.shortened', messageId: 'm-1', leftOut: '1 × file (image/png)' },
    ])
  })
  it.each(['data:{"total":7}', 'reply data:{"total":7}'])(
    'can be data without text: %s',
    async (message) => {
      const emitted: unknown[] = []
      const emit = (one: unknown) => void emitted.push(one)
      const agent = await running(await remote())
      const outcome = await agent.run(session().request(message, { emit }), never)
      expect(outcome).toEqual({ kind: 'answered', response: '' })
      expect(emitted.filter((one) => one !== '')).toEqual([
        { type: 'data', name: 'data', data: { total: 7 } },
      ])
    },
  )
  it('sends the session and the principal', async () => {
    const agent = await remote()
    const executionPrincipal = { type: 'end_user', endUserId: 'u-1' } as const
    const run = session().request('hi', {
      messageId: 'm-1',
      sessionId: 's-1',
      executionPrincipal,
      metadata: { channel: 'web' },
    })
    await (await running(agent)).run(run, never)
    const metadata = { sessionId: 's-1', executionPrincipal, metadata: { channel: 'web' } }
    expect(agent.received[0]).toMatchObject({ messageId: 'm-1', metadata })
  })
  it.each([
    ['1.0', {}],
    ['0.3', { isLegacy: true, card: legacyCard }],
  ])('sends files by URL and data to an agent of A2A %s', async (_, options) => {
    const agent = await remote(options)
    const url = 'https://files.example/a.pdf'
    const parts = [
      { type: 'file', url, mediaType: 'application/pdf', filename: 'a.pdf' },
      { type: 'data', name: 'order', id: 'o-1', data: { total: 7 } },
    ] as const
    const outcome = await (await running(agent)).run(session().request('hi', { parts }), never)
    expect(outcome).toMatchObject({ kind: 'answered' })
    expect(agent.received[0]?.parts).toMatchObject([
      { content: { $case: 'text', value: 'hi' } },
      {
        content: { $case: 'url', value: url },
        mediaType: 'application/pdf',
        filename: 'a.pdf',
      },
      { content: { $case: 'data', value: { total: 7 } }, metadata: { name: 'order', id: 'o-1' } },
    ])
    expect(parts.map((part) => runtime().accepts?.(part, {}))).toEqual([undefined, undefined])
    expect(runtime().takesResponseSchema).toBeUndefined()
  })
  it('sends the parts with the message, and not with an answer', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request, session: kept } = session()
    const parts = [{ type: 'data', name: 'a', data: 1 }] as const
    const asking = request('ask which one?', { parts })
    await runs.run(asking, never)
    const answered = { id: 'i-1', question: 'which one?', value: 'that' }
    const sessionState = kept.state ?? ''
    await runs.run({ ...asking, attempt: 2, sessionState, inputs: [answered] }, never)
    expect(agent.received.map((message) => message.parts.length)).toEqual([2, 1])
  })
  it('sends the trace of the request', async () => {
    const agent = await remote()
    const trace = {
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      tracestate: 'vendor=1',
    }
    await (await running(agent)).run(session().request('hi', { trace }), never)
    expect(agent.headers).toContainEqual(expect.objectContaining(trace))
  })
  it('uses one context for the session and one task for each message', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request } = session()
    await runs.run(request('first'), never)
    await runs.run(request('second'), never)
    const [first, second] = agent.received
    expect(second?.contextId).toBe(first?.contextId)
    expect(second?.taskId).not.toBe(first?.taskId)
  })
  it('asks a person the agent’s question, and the answer continues the task', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request, session: kept } = session()
    const asking = request('ask which one?')
    expect(await runs.run(asking, never)).toEqual({
      kind: 'input_required',
      question: 'which one?',
    })
    const { taskId } = JSON.parse(kept.state ?? '{}') as { taskId: string }
    const sessionState = kept.state ?? ''
    const inputs = [{ id: 'i', question: 'which one?', value: 'that one' }]
    const answered = { ...asking, attempt: 2, sessionState, inputs }
    expect(await runs.run(answered, never)).toEqual({ kind: 'answered', response: 'that one' })
    expect(agent.received[1]).toMatchObject({ taskId, messageId: `${asking.messageId}.1` })
    await runs.run(request('something else'), never)
    expect(agent.received[2]?.taskId).not.toBe(taskId)
  })
  it('asks again without an answer, and does not send an answer twice', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request, session: kept } = session()
    const first = request('ask which one?')
    await runs.run(first, never)
    const again = { ...first, attempt: 2, sessionState: kept.state ?? '' }
    expect(await runs.run(again, never)).toMatchObject({ kind: 'input_required' })
    const inputs = [{ id: 'i', question: 'which one?', value: { size: 'L' } }]
    const answered = { ...first, attempt: 3, sessionState: kept.state ?? '', inputs }
    const response = '{"size":"L"}'
    expect(await runs.run(answered, never)).toEqual({ kind: 'answered', response })
    const resumed = { ...answered, attempt: 4, sessionState: kept.state ?? '' }
    expect(await runs.run(resumed, never)).toEqual({ kind: 'answered', response })
    expect(agent.received).toHaveLength(2)
  })
  it('starts a new task if the agent dropped the task with its question', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request, session: kept } = session()
    const asking = request('ask which one?')
    await runs.run(asking, never)
    agent.forget()
    const inputs = [{ id: 'i', question: 'which one?', value: 'the other' }]
    const answered = { ...asking, attempt: 2, sessionState: kept.state ?? '', inputs }
    expect(await runs.run(answered, never)).toMatchObject({ kind: 'input_required' })
    expect(agent.received.at(-1)).toMatchObject({ messageId: asking.messageId })
  })
  it('asks a person to give credentials to the agent, never to the service', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request, session: kept } = session()
    const asking = request('login at the desk')
    expect(await runs.run(asking, never)).toEqual({
      kind: 'input_required',
      question: 'at the desk\n\nGive credentials to the agent itself, never with this answer.',
      options: ['done'],
    })
    const inputs = [{ id: 'i', question: 'at the desk', value: 'done' }]
    const answered = { ...asking, attempt: 2, sessionState: kept.state ?? '', inputs }
    expect(await runs.run(answered, never)).toEqual({ kind: 'answered', response: 'done' })
  })
  it.each([
    ['fail out of paper', 'out of paper'],
    ['reject not my job', 'not my job'],
    ['silent', 'the agent failed the task'],
  ])('fails without a retry when the task fails: %s', async (message, text) => {
    const outcome = await (await running(await remote())).run(session().request(message), never)
    expect(outcome).toEqual({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: text },
      retryable: false,
    })
  })
})

describe('an interrupted turn', () => {
  it('continues its task after a restart and does not send the message again', async () => {
    const agent = await remote()
    const { request, session: kept } = session()
    const first = request('wait for it')
    const before = await running(agent)
    const lost = before.run(first, never)
    await until(() => kept.kept.length > 0)
    await before.stop()
    expect(await lost).toMatchObject({ kind: 'failed', retryable: true })
    expect(agent.cancelled).toEqual([])
    agent.release()
    const second = {
      ...first,
      attempt: 2,
      ...(kept.state !== undefined && { sessionState: kept.state }),
    }
    expect(await (await running(agent)).run(second, never)).toEqual({
      kind: 'answered',
      response: 'wait for it',
    })
    expect(agent.received).toHaveLength(1)
  })
  it('is sent again when the agent has dropped the task', async () => {
    const forgotten = JSON.stringify({ contextId: 'c', taskId: 'gone', messageId: 'm-1' })
    const agent = await remote()
    const run = aRunRequest({
      messageId: 'm-1',
      message: 'again',
      sessionState: forgotten,
      attempt: 2,
    })
    expect(await (await running(agent)).run(run, never)).toEqual({
      kind: 'answered',
      response: 'again',
    })
    expect(agent.received).toHaveLength(1)
  })
  it('is retried and sent again when the agent drops the running task', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request, session: kept } = session()
    const outcome = runs.run(request('wait', { messageId: 'm-1' }), never)
    await until(() => kept.kept.length > 0)
    agent.forget()
    expect(await outcome).toMatchObject({ kind: 'failed', retryable: true })
    agent.release()
    expect(await runs.run(request('wait', { messageId: 'm-1', attempt: 2 }), never)).toEqual({
      kind: 'answered',
      response: 'wait',
    })
  })
  it('starts a new task when the caller retries a failed message', async () => {
    const agent = await remote()
    const runs = await running(agent)
    const { request } = session()
    await runs.run(request('fail out of paper', { messageId: 'm-1' }), never)
    expect(await runs.run(request('print it', { messageId: 'm-1' }), never)).toEqual({
      kind: 'answered',
      response: 'print it',
    })
  })
  it('starts a new task when the last attempt timed out', async () => {
    const agent = await remote()
    const { request } = session()
    await (
      await running(agent, { options: { timeoutMs: 100 } })
    ).run(request('wait', { messageId: 'm-1' }), never)
    agent.release()
    expect(agent.cancelled).toHaveLength(1)
    expect(
      await (await running(agent)).run(request('wait', { messageId: 'm-1', attempt: 2 }), never),
    ).toEqual({
      kind: 'answered',
      response: 'wait',
    })
  })
  it.each(['timeout', 'cancelled'])('cancels the task when the run ends: %s', async (cause) => {
    const agent = await remote()
    const { request, session: kept } = session()
    const aborter = new AbortController()
    const outcome = (await running(agent)).run(request('wait'), aborter.signal)
    await until(() => kept.kept.length > 0)
    aborter.abort(new Error('run aborted', { cause }))
    expect((await outcome).kind).toBe('failed')
    expect(agent.cancelled).toHaveLength(1)
  })
  it.each(['drain', 'lost'])(
    'does not cancel the task when another process continues it: %s',
    async (cause) => {
      const agent = await remote()
      const { request, session: kept } = session()
      const aborter = new AbortController()
      const outcome = (await running(agent)).run(request('wait'), aborter.signal)
      await until(() => kept.kept.length > 0)
      aborter.abort(new Error('run aborted', { cause }))
      expect(await outcome).toMatchObject({ kind: 'failed', retryable: true })
      expect(agent.cancelled).toEqual([])
    },
  )
  it('ends at the agent’s timeout', async () => {
    const agent = await remote()
    const outcome = await (
      await running(agent, { options: { timeoutMs: 100 } })
    ).run(session().request('wait'), never)
    expect(outcome).toEqual({
      kind: 'failed',
      error: { code: 'RUNTIME_TIMEOUT', message: 'no answer within 100 ms' },
      retryable: true,
    })
  })
  it('ends when its lease is lost before the task is stored', async () => {
    const lost = async () => {
      throw new Error('the lease was lost')
    }
    const outcome = await (
      await running(await remote())
    ).run(aRunRequest({ message: 'hi', remember: lost }), never)
    expect(outcome).toMatchObject({
      kind: 'failed',
      retryable: true,
      error: { message: 'the lease was lost' },
    })
  })
})

describe('an A2A agent of another version', () => {
  it('is used if it speaks A2A 0.3', async () => {
    const agent = await remote({ isLegacy: true, card: legacyCard })
    const runs = await running(agent, { headers: { authorization: 'Bearer s3cret' } })
    const { request, session: kept } = session()
    expect(await runs.run(request('one|two'), never)).toEqual({
      kind: 'answered',
      response: 'one\n\ntwo',
    })
    const asking = request('ask which one?')
    const question = 'which one?'
    expect(await runs.run(asking, never)).toEqual({ kind: 'input_required', question })
    const { taskId } = JSON.parse(kept.state ?? '{}') as { taskId: string }
    const inputs = [{ id: 'i', question, value: 'that one' }]
    const sessionState = kept.state ?? ''
    expect(await runs.run({ ...asking, attempt: 2, sessionState, inputs }, never)).toEqual({
      kind: 'answered',
      response: 'that one',
    })
    expect(agent.received[2]?.taskId).toBe(taskId)
    expect(await runs.run(request('fail out of paper'), never)).toMatchObject({
      error: { message: 'out of paper' },
    })
    expect(agent.headers.every(({ authorization }) => authorization === 'Bearer s3cret')).toBe(true)
    expect(await runs.health(never)).toEqual({ ok: true })
  })
  it('is sent the message again if it speaks A2A 0.3 and drops the task', async () => {
    const agent = await remote({ isLegacy: true, card: legacyCard })
    const runs = await running(agent)
    const { request, session: kept } = session()
    const asking = request('ask which one?')
    expect(await runs.run(asking, never)).toMatchObject({ kind: 'input_required' })
    agent.forget()
    const inputs = [{ id: 'i', question: 'which one?', value: 'the other' }]
    const answered = { ...asking, attempt: 2, sessionState: kept.state ?? '', inputs }
    expect(await runs.run(answered, never)).toMatchObject({ kind: 'input_required' })
    expect(agent.received).toHaveLength(2)
  })
  it.each([
    ['A2A 0.2.5 over JSONRPC', (url: string) => legacyCard(url, '0.2.5')],
    [
      'A2A 2.0 over JSONRPC, A2A 1.0 over GRPC',
      (url: string) => ({
        ...legacyCard(url),
        supportedInterfaces: [
          { url, protocolBinding: 'JSONRPC', protocolVersion: '2.0' },
          { url, protocolBinding: 'GRPC', protocolVersion: '1.0' },
        ],
      }),
    ],
    ['no endpoint', () => ({ name: 'no card' })],
  ])('does not start, and the error names what it offers: %s', async (offer, card) => {
    const agent = await remote({ card })
    expect(unwrapError(await start(agent))).toEqual({
      code: 'RUNTIME_EXITED',
      message:
        `the agent's card is not usable: the agent offers ${offer}. ` +
        'This service supports A2A 0.3 and 1.0 over JSONRPC or HTTP+JSON',
    })
  })
})

describe('a failing A2A agent', () => {
  it('is polled again after a short failure', async () => {
    const agent = await remote()
    const { request, session: kept } = session()
    const outcome = (await running(agent)).run(request('wait'), never)
    await until(() => kept.kept.length > 0)
    agent.refuse(503, 3)
    agent.release()
    expect(await outcome).toEqual({ kind: 'answered', response: 'wait' })
  })
  it('fails the run with a retry when it stays down', async () => {
    const agent = await remote()
    const { request, session: kept } = session()
    const outcome = (await running(agent)).run(request('wait'), never)
    await until(() => kept.kept.length > 0)
    agent.refuse(503, 1_000)
    expect(await outcome).toMatchObject({ kind: 'failed', retryable: true })
  })
  it.each([
    [401, false],
    [429, true],
    [500, true],
  ])('fails the run after status %i: retryable is %s', async (status, retryable) => {
    const agent = await remote()
    const runs = await running(agent)
    agent.refuse(status, 1)
    expect(await runs.run(session().request('hi'), never)).toMatchObject({
      kind: 'failed',
      retryable,
    })
  })
  it('does not start without a usable card', async () => {
    const agent = await remote()
    agent.refuse(404, 1)
    expect(unwrapError(await start(agent))).toMatchObject({
      code: 'RUNTIME_EXITED',
      message: expect.stringContaining('404'),
    })
    await agent.close()
    expect(unwrapError(await start(agent)).code).toBe('RUNTIME_EXITED')
  })
  it('does not start with a card of too many values', async () => {
    const { url } = await remote()
    const broad: typeof fetch = async (...given) => {
      const card = (await (await fetch(...given)).json()) as object
      return Response.json({ ...card, more: Array.from({ length: 10_000 }, () => 1) })
    }
    const agent = anAgent({ runtime: { kind: 'a2a', options: { url } } })
    const starting = runtime({ fetch: broad }).start({ agent, secrets: {} }, () => undefined)
    expect(unwrapError(await starting).message).toContain(
      'the JSON of the agent must not have more than 10000 values',
    )
  })

  it('is reached at a new endpoint after its card changes', async () => {
    const before = await remote()
    const after = await remote()
    const agent = await remote({ endpoint: before.url })
    const runs = await running(agent)
    expect(await runs.run(session().request('one'), never)).toEqual({
      kind: 'answered',
      response: 'one',
    })
    agent.moveTo(after.url)
    await before.close()
    closing.shift()
    expect(await runs.run(session().request('two'), never)).toMatchObject({
      kind: 'failed',
      retryable: true,
    })
    expect(await runs.health(never)).toEqual({ ok: true })
    expect(await runs.run(session().request('two'), never)).toEqual({
      kind: 'answered',
      response: 'two',
    })
  })
  it('fails its health check', async () => {
    const agent = await remote()
    const runs = await running(agent)
    expect(await runs.health(never)).toEqual({ ok: true })
    agent.refuse(500, 1)
    expect(await runs.health(never)).toMatchObject({ ok: false })
  })
})

describe('the secret headers of an A2A agent', () => {
  it('are sent with every request to its origin', async () => {
    const agent = await remote()
    await (
      await running(agent, { headers: { authorization: 'Bearer s3cret' } })
    ).run(session().request('hi'), never)
    expect(agent.headers.map(({ authorization }) => authorization)).toEqual(
      agent.headers.map(() => 'Bearer s3cret'),
    )
    expect(agent.headers.length).toBeGreaterThan(1)
  })
  it('are not sent to another origin that its card names', async () => {
    const elsewhere = await remote()
    const agent = await remote({ endpoint: elsewhere.url })
    await (
      await running(agent, { headers: { authorization: 'Bearer s3cret' } })
    ).run(session().request('hi'), never)
    expect(agent.headers[0]?.authorization).toBe('Bearer s3cret')
    expect(elsewhere.headers.length).toBeGreaterThan(0)
    expect(elsewhere.headers.every(({ authorization }) => authorization === undefined)).toBe(true)
  })
})

describe('the failure text of an A2A agent', () => {
  const headers = { authorization: 'Bearer s3cret-t0ken', 'x-key': 'another-one', 'x-empty': '' }
  const echo = 'you sent Bearer s3cret-t0ken (that is s3cret-t0ken) and another-one'
  const messageOf = (outcome: unknown): string => (outcome as { error: RunError }).error.message

  it('contains no secret header', async () => {
    const agent = await remote()
    const runs = await running(agent, { headers })
    agent.refuse(401, 1, echo)
    expect(messageOf(await runs.run(session().request('hi'), never))).toMatch(
      /Status: 401.*you sent \*\*\* \(that is \*\*\*\) and \*\*\*$/,
    )
    expect(messageOf(await runs.run(session().request(`fail ${echo}`), never))).toBe(
      'you sent *** (that is ***) and ***',
    )
    agent.refuse(200, 2, echo)
    for (const text of [
      unwrapError(await start(agent, { headers })).message,
      JSON.stringify(await runs.health(never)),
    ])
      expect(text).not.toMatch(/s3cret|another-one/)
  })
  it('is shortened and can be stored', async () => {
    const runs = await running(await remote())
    expect(messageOf(await runs.run(session().request(`fail ${'x'.repeat(999)}😀`), never))).toBe(
      'x'.repeat(999),
    )
    expect(messageOf(await runs.run(session().request('fail a\0b\uD800c'), never))).toMatch(
      /^a\uFFFDb\uFFFDc$/,
    )
  })
})

describe('the options of an A2A agent', () => {
  const parse = (options: Parameters<ReturnType<typeof a2aRuntime>['parseOptions']>[0]) =>
    runtime().parseOptions(options)
  it('separate header values from visible options', async () => {
    const parsed = await parse({
      url: 'https://agent.example',
      headers: { 'X-Key': 'k' },
      timeoutMs: 5_000,
    })
    expect(unwrap(parsed)).toEqual({
      options: { url: 'https://agent.example', headers: { set: true }, timeoutMs: 5_000 },
      secrets: { headers: { 'X-Key': 'k' } },
    })
  })
  it.each([
    [{}, 'url is required'],
    [{ url: 'https://a.example', command: 'rm' }, 'command is not an option of a2a agents'],
    [
      { url: 'https://a.example', headers: { 'a b': 'x' } },
      "headers must have names of 1 to 128 characters, each a letter, a digit or one of !#$%&'*+-.^_`|~",
    ],
    [
      { url: 'https://a.example', headers: { a: 'x\ny' } },
      'headers.a must not contain line breaks, control characters or characters beyond Latin-1',
    ],
    [
      { url: 'https://a.example', headers: { Host: 'b' } },
      'headers.Host is set by the service itself',
    ],
    [
      { url: 'https://a.example', timeoutMs: 0 },
      'timeoutMs must be a whole number from 1 to 86400000',
    ],
  ])('are rejected with a reason: %j', async (options, sentence) => {
    expect(unwrapError(await parse(options))).toBe(sentence)
  })
  it('are rejected when requests cannot go to the url', async () => {
    const refusing = runtime({ vet: async () => failure('must be public') })
    expect(unwrapError(await refusing.parseOptions({ url: 'https://10.0.0.1' }))).toBe(
      'url must be public',
    )
    const agent = anAgent({ runtime: { kind: 'a2a', options: { url: 'https://10.0.0.1' } } })
    expect(unwrapError(await refusing.start({ agent, secrets: {} }, () => undefined)).message).toBe(
      'url must be public',
    )
  })
})
