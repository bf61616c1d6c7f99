import { fileURLToPath } from 'node:url'
import {
  PartCollector,
  type OnExit,
  type PartEvent,
  type RunError,
  type RunningAgent,
  type RunOutcome,
  type RunRequest,
  type Turn,
} from '@org/agent-messaging-core/runtime'
import { anAgent, aRunRequest, fakeClock, unwrap, unwrapError } from '@org/agent-messaging-testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { isAlive, leftOf } from '../test/processes.js'
import type { ProcessLimits } from './process-agent.js'
import { processRuntime } from './process-runtime.js'
import type { Program } from './program.js'

const PROGRAM: Program = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../test/program.mjs', import.meta.url))],
}
const neverAborted = new AbortController().signal

type Started = {
  readonly running: RunningAgent
  readonly exits: RunError[]
  /** The second argument of each `onExit`. */
  readonly endedForRun: (boolean | undefined)[]
  readonly log: Record<string, unknown>[]
  run(
    message: string | object,
    more?: Partial<RunRequest>,
    signal?: AbortSignal,
  ): Promise<RunOutcome>
}

const agentOf = (program: string) => ({
  agent: anAgent({ runtime: { kind: 'process', options: { program } } }),
  secrets: {},
})

function runtimeOf(
  program: Program,
  limits: Partial<ProcessLimits> = {},
  environment: Record<string, string | undefined> = process.env,
) {
  const log: Record<string, unknown>[] = []
  const runtime = processRuntime({
    programs: { test: program },
    environment,
    clock: fakeClock(),
    log: (details, text) => log.push({ text, ...details }),
    limits,
  })
  return { runtime, log }
}

/** A ready program that stops at the end of the test. */
async function started(
  ...[program = PROGRAM, ...more]: Partial<Parameters<typeof runtimeOf>>
): Promise<Started> {
  const { runtime, log } = runtimeOf(program, ...more)
  const exits: RunError[] = []
  const endedForRun: (boolean | undefined)[] = []
  const onExit: OnExit = (error, isForRun) => {
    exits.push(error)
    endedForRun.push(isForRun)
  }
  const running = unwrap(await runtime.start(agentOf('test'), onExit))
  onTestFinished(() => running.stop())
  return {
    running,
    exits,
    endedForRun,
    log,
    run: (message, request, signal = neverAborted) =>
      running.run(
        aRunRequest({
          message: typeof message === 'string' ? message : JSON.stringify(message),
          ...request,
        }),
        signal,
      ),
  }
}

const withReady = (ready: object): Program => ({
  ...PROGRAM,
  env: { READY: JSON.stringify(ready) },
})
const script = (source: string): Program => ({ command: process.execPath, args: ['-e', source] })
const LOST = {
  kind: 'failed',
  retryable: true,
  error: { code: 'RUNTIME_LOST', message: 'the program ended during the run' },
}

describe('the options of a process agent', () => {
  const { runtime } = runtimeOf(PROGRAM)

  it('name a program of the operator', async () => {
    expect(unwrap(await runtime.parseOptions({ program: 'test' }))).toEqual({
      options: { program: 'test' },
      secrets: {},
    })
  })

  it.each([
    [{}, 'program is required. It must be one of: test'],
    [{ program: '/bin/sh' }, 'program must be one of: test'],
    [{ program: 'toString' }, 'program must be one of: test'],
    [{ program: ['test'] }, 'program must be one of: test'],
    [{ program: 'test', args: ['-c', 'rm'] }, 'args is not an option of process agents'],
    [{ program: 'test', command: 'sh' }, 'command is not an option of process agents'],
  ])('reject %j', async (options, sentence) => {
    expect(unwrapError(await runtime.parseOptions(options))).toBe(sentence)
  })

  it('can name a program that this process no longer has, and the start then fails', async () => {
    const error = unwrapError(await runtime.start(agentOf('gone'), () => undefined))
    expect(error).toEqual({ code: 'RUNTIME_EXITED', message: 'this process has no program "gone"' })
    expect(['test', 'gone'].map((program) => runtime.has?.({ program }))).toEqual([true, false])
  })
})

describe('a run', () => {
  it('carries the whole request without the callback', async () => {
    const { run } = await started()
    const request = aRunRequest({
      metadata: { channel: 'mail' },
      attempt: 2,
      sessionState: 'seen',
      executionPrincipal: { type: 'end_user', endUserId: 'Ada' },
      trace: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' },
    })
    const outcome = await run('Hi', request)
    const { id, ...seen } = JSON.parse((outcome as { response: string }).response) as Record<
      string,
      unknown
    >
    const { messageId, agentId, sessionId, metadata, executionPrincipal, attempt, sessionState } =
      request
    expect(seen).toEqual({
      type: 'run',
      messageId,
      agentId,
      sessionId,
      message: request.message,
      metadata,
      executionPrincipal,
      attempt,
      sessionState,
      ...request.trace,
    })
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('carries the parts and the schema of the answer', async () => {
    const { run } = await started()
    const { runtime } = runtimeOf(PROGRAM)
    const parts = [{ type: 'data', name: 'order', data: { total: 7 } }] as const
    const responseSchema = { type: 'object' }
    const outcome = await run('Hi', { parts, responseSchema })
    const seen = JSON.parse((outcome as { response: string }).response) as object
    expect(seen).toMatchObject({ message: 'Hi', parts, responseSchema })
    expect(runtime.accepts?.(parts[0], {})).toBeUndefined()
    expect(runtime.takesResponseSchema).toBe(true)
  })

  it('carries the history that the ready message asks for', async () => {
    const turn: Turn = {
      messageId: 'm1',
      message: 'My cat is Tom',
      response: 'Noted',
      executionPrincipal: { type: 'service' },
    }
    const asked: object[] = []
    const { run } = await started(withReady({ history: { maxTurns: 5, maxLength: 1000 } }))
    const history: RunRequest['history'] = async (limit) => {
      asked.push(limit)
      return [turn]
    }
    const outcome = await run('Hi', { history })
    expect(JSON.parse((outcome as { response: string }).response)).toMatchObject({
      history: [turn],
    })
    expect(asked).toEqual([{ maxTurns: 5, maxLength: 1000 }])
  })

  it('is lost and retried when its history cannot be read', async () => {
    const { run } = await started(withReady({ history: { maxTurns: 5, maxLength: 1000 } }))
    const history = () => Promise.reject(new Error('no store'))
    expect(await run('Hi', { history })).toMatchObject({
      kind: 'failed',
      retryable: true,
      error: { code: 'RUNTIME_LOST' },
    })
  })

  it('stores the session state of its answer before it ends', async () => {
    const { run } = await started()
    let sessionState: string | undefined
    const remember = async (state: string) => void (sessionState = state)
    expect(await run({ do: 'count' }, { remember })).toEqual({ kind: 'answered', response: '0' })
    expect(sessionState).toBe('1')
    const more = { remember, ...(sessionState !== undefined && { sessionState }) }
    expect(await run({ do: 'count' }, more)).toEqual({ kind: 'answered', response: '1' })
  })

  it('asks a person, and gets the answer with its next run', async () => {
    const { run } = await started()
    const question = { question: 'Pay?', options: ['yes', 'no'], onExpiry: 'fail' }
    const action = { do: 'ask', question }
    expect(await run(action)).toEqual({
      kind: 'input_required',
      question: 'Pay?',
      options: ['yes', 'no'],
    })
    const inputs = [{ id: 'i', question: 'Pay?', options: ['yes', 'no'], value: 'yes' }]
    expect(await run(action, { inputs })).toEqual({
      kind: 'answered',
      response: JSON.stringify(inputs),
    })
    expect(await run({ do: 'ask', question: { question: 'Pay?', options: [] } })).toMatchObject({
      kind: 'failed',
      error: { code: 'QUESTION_INVALID' },
    })
  })

  it('can report the tokens that it used', async () => {
    const { run } = await started()
    const usage = { inputTokens: 12, outputTokens: 3 }
    expect(await run({ do: 'use', usage })).toEqual({ kind: 'answered', response: 'used', usage })
    expect(await run({ do: 'fail', message: 'no', usage })).toMatchObject({ kind: 'failed', usage })
    const wrong = { do: 'use', usage: { inputTokens: 'many' } }
    expect(await run(wrong)).toEqual({ kind: 'answered', response: 'used' })
  })

  it('emits its chunks', async () => {
    const { run } = await started()
    const chunks: unknown[] = []
    expect(await run({ do: 'chunks' }, { emit: (chunk) => chunks.push(chunk) })).toEqual({
      kind: 'answered',
      response: 'one two',
    })
    expect(chunks).toEqual(['one ', 'two '])
  })

  it('emits its parts between its chunks', async () => {
    const { run } = await started()
    const emitted: unknown[] = []
    const call = { toolCallId: 'c1', toolName: 'look' }
    const lines = [
      { type: 'part', part: { type: 'tool-input-available', ...call, input: { at: 1 } } },
      { type: 'chunk', text: 'A ' },
      { type: 'part', part: { type: 'tool-output-available', toolCallId: 'c1', output: 'cat' } },
      { type: 'chunk', text: 'cat' },
    ]
    const emit = (one: unknown) => emitted.push(one)
    expect(await run({ do: 'write', lines, response: 'A cat' }, { emit })).toEqual({
      kind: 'answered',
      response: 'A cat',
    })
    expect(emitted).toEqual(lines.map(({ part, text }) => part ?? text))
  })

  it('is not failed by wrong parts', async () => {
    const { run, running, log } = await started(PROGRAM, { maxLineBytes: 100_000 })
    const dropped: string[] = []
    const collector = new PartCollector((problem) => dropped.push(problem))
    const delta = (text: string) => ({ type: 'reasoning-delta', id: 'r', text })
    const parts = [
      undefined,
      null,
      'text',
      [],
      {},
      { type: 'unknown' },
      { type: 'tool-output-available', toolCallId: 'no call', output: 1 },
      { type: 'file', url: 'data:,a', mediaType: 'text/plain' },
      delta('😀'.slice(0, 1)),
      delta('😀'.slice(1)),
      delta('\uDC00'),
      delta('x'.repeat(70_000)),
      delta('y'.repeat(200_000)),
    ]
    const lines = parts.map((part) => ({ type: 'part', part }))
    const emit = (one: string | PartEvent) => void collector.take(one)
    expect(await run({ do: 'write', lines, response: 'ok' }, { emit })).toEqual({
      kind: 'answered',
      response: 'ok',
    })
    expect(collector.finish('ok')).toEqual({
      parts: [
        { type: 'reasoning', text: '😀\uFFFD' },
        { type: 'text', text: 'ok' },
      ],
      isTruncated: true,
    })
    expect(dropped).toEqual(['has an unknown type'])
    await running.health(neverAborted) // All output before the pong has been read.
    expect(log.map(({ why }) => why)).toEqual([
      'part is required',
      'part must be an object',
      'part must be an object',
      'part must be an object',
      'the line has more than 100000 bytes',
    ])
    expect(JSON.stringify(log)).not.toContain('yyy')
  })

  it('can overlap with others, which the program answers in any order', async () => {
    const { run } = await started()
    const runs = ['a', 'b', 'c'].map((sessionId) => run({ do: 'gather', until: 3 }, { sessionId }))
    expect(
      (await Promise.all(runs)).map((outcome) => 'response' in outcome && outcome.response),
    ).toEqual(['a', 'b', 'c'])
  })

  it.each([
    [{ message: 'no money' }, 'no money', false],
    [{ message: 'busy', retryable: true }, 'busy', true],
    [{ message: 'x'.repeat(2_000) }, 'x'.repeat(1_000), false],
    [{ message: `${'x'.repeat(999)}😀` }, 'x'.repeat(999), false],
    [{ message: 'a\0b' }, 'the agent failed', false],
  ])('fails with the program’s error message', async (error, message, retryable) => {
    const { run } = await started()
    expect(await run({ do: 'fail', ...error })).toEqual({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message },
      retryable,
    })
  })
})

describe('an invalid answer', () => {
  const line = (answer: object) => ({
    do: 'print',
    text: `${JSON.stringify({ type: 'answer', id: '$id', ...answer })}\n`,
  })
  const limits = { maxLineBytes: 10_000 }

  it.each([
    [line({}), "the program's answer is not valid: response is required"],
    [line({ response: 5 }), "the program's answer is not valid: response must be a string"],
    [
      line({ response: 'private words', sessionState: '\0' }),
      "the program's answer is not valid: sessionState must not contain NUL or a lone surrogate",
    ],
    [
      line({ response: 'private words'.repeat(1_000) }),
      "the program's answer is not valid: the line has more than 10000 bytes",
    ],
    [
      { do: 'print', text: '{"type":"error","id":"$id"}\n' },
      "the program's error is not valid: message is required",
    ],
  ])('fails its run', async (action, message) => {
    const { run, running, log } = await started(PROGRAM, limits)
    expect(await run(action)).toEqual({
      kind: 'failed',
      error: { code: 'RESPONSE_INVALID', message },
      retryable: false,
    })
    expect(log).toMatchObject([
      { text: 'program.stray_line', why: message.replace(/^.* valid: /, '') },
    ])
    expect(JSON.stringify(log)).not.toContain('private')
    expect(await running.health(neverAborted)).toEqual({ ok: true })
  })

  it('is logged when it is repeated or belongs to no run', async () => {
    const twice =
      '{"type":"answer","id":"$id","response":"first"}\n{"type":"answer","id":"$id","response":"second"}\n'
    const { run, log, running } = await started()
    expect(
      await run({ do: 'print', text: `{"type":"answer","id":"other","response":"?"}\n${twice}` }),
    ).toEqual({
      kind: 'answered',
      response: 'first',
    })
    await running.health(neverAborted) // All output before the pong has been read.
    expect(log.map(({ text, line }) => [text, String(line).includes('other')])).toEqual([
      ['program.stray_line', true],
      ['program.stray_line', false],
    ])
    expect(JSON.stringify(log)).not.toContain('second')
  })

  it('is not assumed from other output', async () => {
    const { run, log } = await started()
    const text =
      'loading…\n[1]\nnull\n{"type":"chunk"}\n{"type":"hello"}\n{"broken\n{"type":"ready","protocol":1}\n\r\n'
    const answer = '{"type":"answer","id":"$id","response":"ok"}\n'
    expect(await run({ do: 'print', text: text + answer })).toEqual({
      kind: 'answered',
      response: 'ok',
    })
    expect(log.map(({ why }) => why)).toEqual([
      'not a JSON object',
      'not a JSON object',
      'not a JSON object',
      'id is required',
      'unknown message type',
      'not a JSON object',
      'ready was already received',
      'not a JSON object',
    ])
  })
})

describe('a flood of output', () => {
  it('adds a hundred lines to the log and does not harm the agent', async () => {
    const { run, log } = await started()
    expect(await run({ do: 'flood', text: 'spam\n', times: 20_000 })).toEqual({
      kind: 'answered',
      response: 'after the flood',
    })
    expect(log).toHaveLength(100)
  })

  it('without a newline is not kept in memory', async () => {
    const { run, log } = await started(PROGRAM, { maxLineBytes: 1024 * 1024 })
    const before = process.memoryUsage().arrayBuffers
    const flood = run({ do: 'flood', text: 'x'.repeat(1024 * 1024), times: 200 })
    expect(await flood).toEqual({ kind: 'answered', response: 'after the flood' })
    // Half of the flood. The rest waits for the garbage collector.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024)
    expect(log).toMatchObject([{ why: 'the line has more than 1048576 bytes' }])
  })
})

describe('a cancelled run', () => {
  it('ends, and the program goes on', async () => {
    const { run, running, exits } = await started()
    const aborter = new AbortController()
    const outcome = run({ do: 'wait' }, {}, aborter.signal)
    aborter.abort()
    expect(await outcome).toMatchObject({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'cancelled' },
    })
    expect(await running.health(neverAborted)).toEqual({ ok: true })
    expect(exits).toEqual([])
  })

  it('does not start after the cancellation', async () => {
    const { run } = await started()
    expect(await run('Hi', {}, AbortSignal.abort())).toMatchObject({
      kind: 'failed',
      retryable: true,
    })
  })

  it('that does not end is lost, and a responsive program with other runs goes on', async () => {
    const { run, exits, log } = await started(PROGRAM, { cancelGraceMs: 100 })
    const aborter = new AbortController()
    const others = new AbortController()
    const other = run({ do: 'wait' }, { sessionId: 'other' }, others.signal)
    const outcome = run({ do: 'deaf' }, {}, aborter.signal)
    aborter.abort()
    const message = 'the program did not end the run when it was cancelled'
    expect(await outcome).toEqual({
      kind: 'failed',
      retryable: true,
      error: { code: 'RUNTIME_LOST', message },
    })
    expect(await run({ do: 'undeaf' })).toEqual({ kind: 'answered', response: 'late ones first' })
    expect(log).toMatchObject([{ why: expect.stringContaining('late') }])
    others.abort()
    expect(await other).toMatchObject({ error: { message: 'cancelled' } })
    expect(exits).toEqual([])
  })

  it('that does not end ends a program without other runs', async () => {
    const { run, exits, endedForRun } = await started(PROGRAM, { cancelGraceMs: 100 })
    const aborter = new AbortController()
    const outcome = run({ do: 'deaf' }, {}, aborter.signal)
    aborter.abort()
    expect(await outcome).toEqual(LOST)
    expect(exits).toEqual([
      { code: 'RUNTIME_EXITED', message: 'the program did not end a cancelled run within 100 ms' },
    ])
    expect(endedForRun).toEqual([true])
  })

  it('of a hanging program ends with the program, like its other runs', async () => {
    const { run, exits } = await started(PROGRAM, { cancelGraceMs: 100 })
    const aborter = new AbortController()
    const other = run({ do: 'wait' }, { sessionId: 'other' })
    const outcome = run({ do: 'hang' }, {}, aborter.signal)
    aborter.abort()
    expect(await Promise.all([outcome, other])).toEqual([LOST, LOST])
    expect(exits).toEqual([
      { code: 'RUNTIME_EXITED', message: 'the program did not end a cancelled run within 100 ms' },
    ])
  })
})

describe('a program that ends', () => {
  it.each([
    [
      { do: 'exit', code: 3, words: 'starting\nout of credit\n' },
      'the program exited with code 3: out of credit',
    ],
    [{ do: 'exit', code: 0, text: '{"type":"answer","id":"' }, 'the program exited with code 0'],
    [{ do: 'segfault' }, 'the program was killed by SIGSEGV'],
    [{ do: 'closeOutput' }, 'the program closed its output'],
  ])('loses its runs and reports its exit', async (action, message) => {
    const { run, exits, endedForRun } = await started()
    expect(await run(action)).toEqual(LOST)
    expect([exits, endedForRun]).toEqual([[{ code: 'RUNTIME_EXITED', message }], [false]])
    expect(await run('too late')).toEqual(LOST)
  })

  it('can answer a run just before', async () => {
    const { run, exits } = await started()
    const text = '{"type":"answer","id":"$id","response":"bye"}'
    expect(await run({ do: 'print', text: text + '\n' })).toEqual({
      kind: 'answered',
      response: 'bye',
    })
    expect(exits).toEqual([])
  })

  it('is detected when it closes its input and does not exit', async () => {
    const { run, exits } = await started()
    expect(await run({ do: 'closeInput' })).toEqual({ kind: 'answered', response: 'closed' })
    expect(await run('are you there?')).toEqual(LOST)
    expect(exits).toEqual([{ code: 'RUNTIME_EXITED', message: 'the program closed its input' }])
  })

  it('after a stop is not reported and leaves no process', async () => {
    const { run, running, exits } = await started(PROGRAM, { stopGraceMs: 200 })
    const forked = await run({ do: 'fork' })
    const pids = (forked as { response: string }).response.split(' ').map(Number)
    expect(pids.filter(isAlive)).toHaveLength(2)
    const open = run({ do: 'wait' })
    await running.stop()
    expect(await open).toEqual(LOST)
    expect(await leftOf(pids)).toEqual([])
    expect(exits).toEqual([])
    expect(await running.health(neverAborted)).toMatchObject({ ok: false })
  })
})

describe('a program that is not ready', () => {
  it.each([
    [
      'because it exits',
      script('console.error("no model"); process.exitCode = 2'),
      'the program exited with code 2: no model',
    ],
    [
      'because it does not exist',
      { command: 'no-such-program' },
      /^the program exited with code 127: /,
    ],
    [
      'in time',
      script('setInterval(() => {}, 1000)'),
      'the program did not send ready within 500 ms',
    ],
    [
      'for this protocol version',
      withReady({ protocol: 2 }),
      'the program sent an invalid ready message: protocol must be 1',
    ],
    [
      'with a valid history',
      withReady({ history: { maxTurns: 0, maxLength: 1 } }),
      /history.maxTurns must be at least 1$/,
    ],
  ] as const)('%s does not start', async (_, program, message) => {
    const { runtime } = runtimeOf(program, {
      startTimeoutMs:
        'args' in program && program.args?.[1]?.includes('setInterval') ? 500 : 15_000,
    })
    const error = unwrapError(await runtime.start(agentOf('test'), () => undefined))
    expect(error).toEqual({
      code: 'RUNTIME_EXITED',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    })
  })
})

it('stopping the service ends a program that is not ready', async () => {
  const { runtime, log } = runtimeOf(
    script('console.error(process.pid); setInterval(() => {}, 1000)'),
  )
  const stopping = new AbortController()
  const starting = runtime.start(agentOf('test'), () => expect.unreachable(), stopping.signal)
  await vi.waitUntil(() => log.length > 0, { timeout: 60_000 })
  stopping.abort()
  expect(unwrapError(await starting)).toEqual({
    code: 'RUNTIME_EXITED',
    message: 'the program was not ready when the service stopped',
  })
  expect(await leftOf([Number(log[0]?.['line'])])).toEqual([])
})

describe('the health check', () => {
  it('pings an idle program and passes for a busy one', async () => {
    const { run, running } = await started(PROGRAM, { healthTimeoutMs: 60_000, cancelGraceMs: 100 })
    expect(await running.health(neverAborted)).toEqual({ ok: true })
    const aborter = new AbortController()
    const hung = run({ do: 'hang' }, {}, aborter.signal)
    expect(await running.health(neverAborted)).toEqual({ ok: true })
    aborter.abort()
    await hung
  })

  it('fails when an idle program does not answer', async () => {
    const deaf = script(
      'console.log(JSON.stringify({ type: "ready", protocol: 1 })); setInterval(() => {}, 1000)',
    )
    const { running } = await started(deaf, { healthTimeoutMs: 100 })
    expect(await running.health(neverAborted)).toEqual({
      ok: false,
      detail: 'the program did not answer a ping',
    })
  })
})

it('a program inherits only the basic and the named variables', async () => {
  const ours = {
    PATH: process.env['PATH'],
    SERVICE_MASTER_KEY: 'canary',
    SERVICE_BOOTSTRAP_API_KEY: 'canary',
    OPENAI_API_KEY: 'sk-1',
  }
  const { run } = await started({ ...PROGRAM, inheritEnv: ['OPENAI_API_KEY'] }, {}, ours)
  const { response } = (await run({ do: 'environment' })) as { response: string }
  expect(response).toContain('sk-1')
  expect(response).not.toContain('canary')
})
