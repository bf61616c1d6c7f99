import { fileURLToPath } from 'node:url'
import type {
  OnExit,
  RunError,
  RunningAgent,
  RunOutcome,
  RunRequest,
  Turn,
} from '@org/agent-messaging-core/runtime'
import { anAgent, aRunRequest, fakeClock } from '@org/agent-messaging-core/testing'
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
  readonly sacrifices: (boolean | undefined)[]
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

/** A program that has said that it is ready; it is stopped at the end of the test. */
async function started(
  ...[program = PROGRAM, ...more]: Partial<Parameters<typeof runtimeOf>>
): Promise<Started> {
  const { runtime, log } = runtimeOf(program, ...more)
  const exits: RunError[] = []
  const sacrifices: (boolean | undefined)[] = []
  const onExit: OnExit = (error, isSacrifice) => {
    exits.push(error)
    sacrifices.push(isSacrifice)
  }
  const running = (await runtime.start(agentOf('test'), onExit))._unsafeUnwrap()
  onTestFinished(() => running.stop())
  return {
    ...{ running, exits, sacrifices, log },
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
    expect((await runtime.parseOptions({ program: 'test' }))._unsafeUnwrap()).toEqual({
      options: { program: 'test' },
      secrets: {},
    })
  })

  it.each([
    [{}, 'program must be one of: test'],
    [{ program: '/bin/sh' }, 'program must be one of: test'],
    [{ program: 'toString' }, 'program must be one of: test'],
    [{ program: ['test'] }, 'program must be one of: test'],
    [{ program: 'test', args: ['-c', 'rm'] }, 'args is not an option of process agents'],
    [{ program: 'test', command: 'sh' }, 'command is not an option of process agents'],
  ])('cannot be %j', async (options, sentence) => {
    expect((await runtime.parseOptions(options))._unsafeUnwrapErr()).toBe(sentence)
  })

  it('may name one that this process does not have any more: then it does not start', async () => {
    const error = (await runtime.start(agentOf('gone'), () => undefined))._unsafeUnwrapErr()
    expect(error).toEqual({ code: 'RUNTIME_EXITED', message: 'this process has no program "gone"' })
    expect(['test', 'gone'].map((program) => runtime.has?.({ program }))).toEqual([true, false])
  })
})

describe('a run', () => {
  it('hands over all that the runtime was given but the callback', async () => {
    const { run } = await started()
    const request = aRunRequest({
      metadata: { channel: 'mail' },
      attempt: 2,
      sessionState: 'seen',
      executionPrincipal: { type: 'end_user', endUserId: 'Ada' },
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
    })
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('hands over the history when the ready line asks for it', async () => {
    const turn: Turn = {
      messageId: 'm1',
      message: 'My cat is Tom',
      response: 'Noted',
      executionPrincipal: { type: 'service' },
    }
    const asked: object[] = []
    const { run } = await started(withReady({ history: { maxTurns: 5, maxLength: 1000 } }))
    const outcome = await run('Hi', { history: async (limit) => (asked.push(limit), [turn]) })
    expect(JSON.parse((outcome as { response: string }).response)).toMatchObject({
      history: [turn],
    })
    expect(asked).toEqual([{ maxTurns: 5, maxLength: 1000 }])
  })

  it('may be lost when the history cannot be read, and is then tried again', async () => {
    const { run } = await started(withReady({ history: { maxTurns: 5, maxLength: 1000 } }))
    const history = () => Promise.reject(new Error('no store'))
    expect(await run('Hi', { history })).toMatchObject({
      kind: 'failed',
      retryable: true,
      error: { code: 'RUNTIME_LOST' },
    })
  })

  it('remembers what the answer says of the session before it ends', async () => {
    const { run } = await started()
    let sessionState: string | undefined
    const remember = async (state: string) => void (sessionState = state)
    expect(await run({ do: 'count' }, { remember })).toEqual({ kind: 'answered', response: '0' })
    expect(sessionState).toBe('1')
    const more = { remember, ...(sessionState !== undefined && { sessionState }) }
    expect(await run({ do: 'count' }, more)).toEqual({ kind: 'answered', response: '1' })
  })

  it('shows its chunks as they come', async () => {
    const { run } = await started()
    const chunks: string[] = []
    expect(await run({ do: 'chunks' }, { emit: (chunk) => chunks.push(chunk) })).toEqual({
      kind: 'answered',
      response: 'one two',
    })
    expect(chunks).toEqual(['one ', 'two '])
  })

  it('goes on beside others in the same program, which may answer in any order', async () => {
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
  ])('fails with the words of the program', async (error, message, retryable) => {
    const { run } = await started()
    expect(await run({ do: 'fail', ...error })).toEqual({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message },
      retryable,
    })
  })
})

describe('an answer that is no good', () => {
  const line = (answer: object) => ({
    do: 'print',
    text: `${JSON.stringify({ type: 'answer', id: '$id', ...answer })}\n`,
  })
  const limits = { maxLineBytes: 10_000 }

  it.each([
    [line({}), "the program's answer is not valid: response must be a string"],
    [line({ response: 5 }), "the program's answer is not valid: response must be a string"],
    [
      line({ response: 'private words', sessionState: '\0' }),
      "the program's answer is not valid: sessionState must not hold NUL or a lone surrogate",
    ],
    [
      line({ response: 'private words'.repeat(1_000) }),
      "the program's answer is not valid: a line of more than 10000 bytes",
    ],
    [
      { do: 'print', text: '{"type":"error","id":"$id"}\n' },
      "the program's error is not valid: message must be a string",
    ],
  ])('fails its run', async (deed, message) => {
    const { run, running, log } = await started(PROGRAM, limits)
    expect(await run(deed)).toEqual({
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

  it('is refused and logged when it is given twice, for another message, or for none', async () => {
    const twice =
      '{"type":"answer","id":"$id","response":"first"}\n{"type":"answer","id":"$id","response":"second"}\n'
    const { run, log, running } = await started()
    expect(
      await run({ do: 'print', text: `{"type":"answer","id":"other","response":"?"}\n${twice}` }),
    ).toEqual({
      kind: 'answered',
      response: 'first',
    })
    await running.health(neverAborted) // All that was printed before the pong has been read.
    expect(log.map(({ text, line }) => [text, String(line).includes('other')])).toEqual([
      ['program.stray_line', true],
      ['program.stray_line', false],
    ])
    expect(JSON.stringify(log)).not.toContain('second')
  })

  it('is none at all while the program only prints', async () => {
    const { run, log } = await started()
    const text =
      'loading…\n[1]\nnull\n{"type":"chunk"}\n{"type":"hello"}\n{"broken\n{"type":"ready","protocol":1}\n\r\n'
    const answer = '{"type":"answer","id":"$id","response":"ok"}\n'
    expect(await run({ do: 'print', text: text + answer })).toEqual({
      kind: 'answered',
      response: 'ok',
    })
    expect(log.map(({ why }) => why)).toEqual([
      ...[
        'no JSON object',
        'no JSON object',
        'no JSON object',
        'id must be a string',
        'no type of message that is known here',
      ],
      ...['no JSON object', 'ready a second time', 'no JSON object'],
    ])
  })
})

describe('a flood', () => {
  it('of lines costs the log a hundred of them, and the agent nothing', async () => {
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
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 1024 * 1024)
    expect(log).toMatchObject([{ why: 'a line of more than 1048576 bytes' }])
  })
})

describe('a cancelled run', () => {
  it('is ended by the program, which goes on', async () => {
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

  it('is not begun when it was cancelled before', async () => {
    const { run } = await started()
    expect(await run('Hi', {}, AbortSignal.abort())).toMatchObject({
      kind: 'failed',
      retryable: true,
    })
  })

  it('that does not end is left alone by a program that works for others and does not hang', async () => {
    const { run, exits, log } = await started(PROGRAM, { cancelGraceMs: 100 })
    const [aborter, others] = [new AbortController(), new AbortController()]
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

  it('that does not end ends a program that does nothing else', async () => {
    const { run, exits, sacrifices } = await started(PROGRAM, { cancelGraceMs: 100 })
    const aborter = new AbortController()
    const outcome = run({ do: 'deaf' }, {}, aborter.signal)
    aborter.abort()
    expect(await outcome).toEqual(LOST)
    expect(exits).toEqual([
      { code: 'RUNTIME_EXITED', message: 'the program did not end a cancelled run within 100 ms' },
    ])
    expect(sacrifices).toEqual([true])
  })

  it('of a program that hangs ends with the program, and so do its other runs', async () => {
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
    [{ do: 'segfault' }, 'the program was ended by SIGSEGV'],
    [{ do: 'closeOutput' }, 'the program closed its output'],
  ])('loses its runs, and says how it ended', async (deed, message) => {
    const { run, exits, sacrifices } = await started()
    expect(await run(deed)).toEqual(LOST)
    expect([exits, sacrifices]).toEqual([[{ code: 'RUNTIME_EXITED', message }], [false]])
    expect(await run('too late')).toEqual(LOST)
  })

  it('may answer with its last breath', async () => {
    const { run, exits } = await started()
    const text = '{"type":"answer","id":"$id","response":"bye"}'
    expect(await run({ do: 'print', text: text + '\n' })).toEqual({
      kind: 'answered',
      response: 'bye',
    })
    expect(exits).toEqual([])
  })

  it('is found out when it closes its input and does not end', async () => {
    const { run, exits } = await started()
    expect(await run({ do: 'closeInput' })).toEqual({ kind: 'answered', response: 'closed' })
    expect(await run('are you there?')).toEqual(LOST)
    expect(exits).toEqual([{ code: 'RUNTIME_EXITED', message: 'the program closed its input' }])
  })

  it('is not reported when it was stopped, and leaves no process behind', async () => {
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
      'because it is not there',
      { command: 'no-such-program' },
      /^the program exited with code 127: /,
    ],
    [
      'in time',
      script('setInterval(() => {}, 1000)'),
      'the program did not say that it is ready within 500 ms',
    ],
    [
      'for our protocol',
      withReady({ protocol: 2 }),
      'the program wrote a ready line that is not valid: protocol must be 1',
    ],
    [
      'with a history we have',
      withReady({ history: { maxTurns: 0, maxLength: 1 } }),
      /history.maxTurns must be at least 1$/,
    ],
  ] as const)('%s does not start', async (_, program, message) => {
    const { runtime } = runtimeOf(program, {
      startTimeoutMs:
        'args' in program && program.args?.[1]?.includes('setInterval') ? 500 : 15_000,
    })
    const error = (await runtime.start(agentOf('test'), () => undefined))._unsafeUnwrapErr()
    expect(error).toEqual({
      code: 'RUNTIME_EXITED',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    })
  })
})

it('ends a program that is not ready yet when the service is to stop', async () => {
  const { runtime, log } = runtimeOf(
    script('console.error(process.pid); setInterval(() => {}, 1000)'),
  )
  const stopping = new AbortController()
  const starting = runtime.start(agentOf('test'), () => expect.unreachable(), stopping.signal)
  await vi.waitUntil(() => log.length > 0)
  stopping.abort()
  expect((await starting)._unsafeUnwrapErr()).toEqual({
    code: 'RUNTIME_EXITED',
    message: 'the program was not ready before the stop',
  })
  expect(await leftOf([Number(log[0]?.['line'])])).toEqual([])
})

describe('health', () => {
  it('is a ping of an idle program; one at work is not asked', async () => {
    const { run, running } = await started(PROGRAM, { healthTimeoutMs: 200, cancelGraceMs: 100 })
    expect(await running.health(neverAborted)).toEqual({ ok: true })
    const aborter = new AbortController()
    const hung = run({ do: 'hang' }, {}, aborter.signal)
    expect(await running.health(neverAborted)).toEqual({ ok: true })
    aborter.abort()
    await hung
  })

  it('is bad of one that does not answer', async () => {
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

it('gives the program nothing of our environment but what it needs and what was named', async () => {
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
