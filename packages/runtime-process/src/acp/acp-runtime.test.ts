import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  PartCollector,
  type RunError,
  type RunningAgent,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import { anAgent, aRunRequest, fakeClock, unwrap, unwrapError } from '@org/agent-messaging-testing'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isAlive } from '../../test/processes.js'
import { acpRuntime, type AcpProgram, type AcpRuntimeOptions } from './acp-runtime.js'

const testProgram = (file: string, ...args: string[]): AcpProgram => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(`../../test/${file}`, import.meta.url)), ...args],
})

type Setting = Partial<Omit<AcpRuntimeOptions, 'programs'>> & {
  readonly program?: Partial<AcpProgram>
}

function runtimeOf(program: AcpProgram, setting: Setting = {}) {
  const log: string[] = []
  const runtime = acpRuntime({
    programs: { coder: { ...program, ...setting.program } },
    environment: process.env,
    log: (details, text) => log.push(`${text} ${JSON.stringify(details)}`),
    clock: fakeClock(),
    ...setting,
  })
  return { runtime, log }
}

const coder = (program = 'coder') => ({
  agent: anAgent({ id: 'agent-1', runtime: { kind: 'acp', options: { program } } }),
  secrets: {},
})

/** Starts an agent that is built on the SDK. */
async function running(args: readonly string[] = [], setting: Setting = {}) {
  return runningProgram(testProgram('acp-agent.mjs', ...args), setting)
}

async function runningProgram(program: AcpProgram, setting: Setting = {}) {
  const { runtime, log } = runtimeOf(program, setting)
  const exits: RunError[] = []
  const agent = unwrap(await runtime.start(coder(), (error) => exits.push(error)))
  onTestFinished(() => agent.stop())
  return { agent, exits, log }
}

/** The error of a program that does not start. */
async function startError(program: AcpProgram, setting: Setting = {}): Promise<RunError> {
  const { runtime } = runtimeOf(program, setting)
  return unwrapError(await runtime.start(coder(), () => expect.unreachable()))
}

const never = new AbortController().signal

/** Runs of one session, with its state between runs. */
function session(
  sessionId = 'session-1',
  past: readonly { message: string; response: string }[] = [],
) {
  const kept: { state?: string } = {}
  const chunks: unknown[] = []
  return {
    kept,
    chunks,
    run: (agent: RunningAgent, message: string, more: Partial<RunRequest> = {}, signal = never) =>
      agent.run(
        aRunRequest({
          messageId: 'message-1',
          agentId: 'agent-1',
          sessionId,
          message,
          ...(kept.state !== undefined && { sessionState: kept.state }),
          remember: async (state) => void (kept.state = state),
          history: async () =>
            past.map((turn, index) => ({
              ...turn,
              messageId: `past-${index}`,
              executionPrincipal: { type: 'service' },
            })),
          emit: (chunk) => chunks.push(chunk),
          ...more,
        }),
        signal,
      ),
  }
}

const answered = (response: string) => ({ kind: 'answered', response })
const failed = (code: string, message: unknown, retryable: boolean) => ({
  kind: 'failed',
  error: { code, message },
  retryable,
})

function folder(): string {
  const made = realpathSync(mkdtempSync(path.join(tmpdir(), 'acp-')))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

describe('options of acp agents', () => {
  const { runtime } = runtimeOf(testProgram('acp-agent.mjs'))

  it('name a program of the operator', async () => {
    expect(unwrap(await runtime.parseOptions({ program: 'coder' }))).toEqual({
      options: { program: 'coder' },
      secrets: {},
    })
  })

  it.each([
    [{}, 'program is required. It must be one of: coder'],
    [{ program: 'toString' }, 'program must be one of: coder'],
    [{ program: ['coder'] }, 'program must be one of: coder'],
    [{ program: 'coder', command: 'sh' }, 'command is not an option of acp agents'],
    [{ program: 'coder', permissions: 'allow' }, 'permissions is not an option of acp agents'],
  ])('reject %j', async (options, error) => {
    expect(unwrapError(await runtime.parseOptions(options as never))).toBe(error)
  })
})

describe('a turn', () => {
  beforeEach(() => {
    // The SDK must not write to the console.
    const consoleError = vi.spyOn(console, 'error')
    return () => {
      const written = [...consoleError.mock.calls]
      consoleError.mockRestore()
      expect(written).toEqual([])
    }
  })

  it('returns all text of the agent and emits each piece', async () => {
    const { agent } = await running()
    const { run, chunks } = session()
    expect(await run(agent, 'tool')).toEqual(answered('Let me look.\n\nIt is a cat.'))
    const call = { type: 'tool-input-start', toolCallId: 'call-1', toolName: 'read', title: 'Look' }
    expect(chunks).toEqual(['Let me look.', call, '\n\n', 'It is a', ' cat.'])
  })

  /** The chunks and parts of a turn with these updates, in which the agent says `done`. */
  async function emittedFor(...updates: readonly object[]) {
    const { agent } = await running()
    const { run, chunks } = session()
    const outcome = await run(agent, `report ${JSON.stringify(updates)}`)
    expect(outcome).toMatchObject({ kind: 'answered', response: expect.stringMatching(/done$/) })
    return chunks.filter((one) => typeof one !== 'string')
  }

  it('emits tool calls with their input, diffs and output', async () => {
    const edit = { toolCallId: 'c1', title: 'Edit it', kind: 'edit' }
    const diff = { type: 'diff', path: '/a.txt', oldText: null, newText: 'new' }
    const shown = (text: string) => ({ type: 'content', content: { type: 'text', text } })
    const calls = await emittedFor(
      { sessionUpdate: 'tool_call', ...edit, status: 'pending' },
      { sessionUpdate: 'tool_call_update', toolCallId: 'c1', rawInput: { path: '/a.txt' } },
      { sessionUpdate: 'tool_call_update', toolCallId: 'c1', content: [diff] },
      { sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'in_progress' },
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'c1',
        status: 'completed',
        content: [diff, shown('one'), { type: 'terminal', terminalId: 't' }, shown('two')],
      },
      { sessionUpdate: 'tool_call', toolCallId: 'c2', rawInput: 'ls', status: 'failed' },
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'c2',
        status: 'completed',
        content: [shown('late')],
        rawOutput: { exitCode: 0 },
      },
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'c2',
        status: 'failed',
        content: [shown('no disk')],
      },
    )
    const call = { toolCallId: 'c1', toolName: 'edit', title: 'Edit it' }
    const data = { toolCallId: 'c1', path: '/a.txt', oldText: null, newText: 'new' }
    const change = { type: 'data', name: 'diff', id: 'c1 /a.txt', data }
    expect(calls).toEqual([
      { type: 'tool-input-start', ...call },
      { type: 'tool-input-available', ...call, input: { path: '/a.txt' } },
      change,
      change,
      { type: 'tool-output-available', toolCallId: 'c1', output: 'one\ntwo' },
      { type: 'tool-input-available', toolCallId: 'c2', toolName: 'other', input: 'ls' },
      { type: 'tool-output-error', toolCallId: 'c2', errorText: 'the tool failed' },
      { type: 'tool-output-available', toolCallId: 'c2', output: { exitCode: 0 } },
      { type: 'tool-output-error', toolCallId: 'c2', errorText: 'no disk' },
    ])
  })

  it('emits thoughts, and the newest plan', async () => {
    const thought = (text: string) => ({
      sessionUpdate: 'agent_thought_chunk',
      content: { type: 'text', text },
    })
    const plans = ['pending', 'completed'].map((status) => [{ content: 'Look', status }])
    const parts = await emittedFor(
      thought('Let me '),
      thought('think.'),
      ...plans.map((entries) => ({ sessionUpdate: 'plan', entries })),
    )
    const collector = new PartCollector(expect.unreachable)
    for (const part of parts) collector.take(part)
    expect(collector.finish('done')?.parts).toEqual([
      { type: 'reasoning', text: 'Let me think.' },
      { type: 'data', name: 'plan', id: 'plan', data: { entries: plans[1] } },
      { type: 'text', text: 'done' },
    ])
  })

  it('is not failed by wrong reports of tools and plans', async () => {
    const update = { sessionUpdate: 'tool_call_update' }
    const thought = { sessionUpdate: 'agent_thought_chunk' }
    const parts = await emittedFor(
      { ...update, toolCallId: 7, status: 'completed' },
      { ...update, toolCallId: 'c1', status: 7, content: 'text', rawInput: null },
      { ...update, toolCallId: '\ud83d', status: 'completed', content: [7, { type: 'diff' }] },
      { ...update, toolCallId: 'x'.repeat(2_000), rawInput: 'y'.repeat(100_000) },
      { ...thought, content: { type: 'text', text: 'z'.repeat(100_000) } },
      { ...thought, content: { type: 'text', text: '\ude00' } },
      { ...thought, content: { type: 'image' } },
      { sessionUpdate: 'plan', entries: 'many' },
    )
    const dropped: string[] = []
    const collector = new PartCollector((problem) => dropped.push(problem))
    for (const part of parts) collector.take(part)
    expect(collector.finish('done')).toMatchObject({
      parts: [
        { type: 'tool', toolCallId: 'c1', toolName: 'other', state: 'input-streaming' },
        { type: 'reasoning', text: '\ufffd' },
        { type: 'text', text: 'done' },
      ],
      isTruncated: true,
    })
    expect(dropped).toHaveLength(1)
  })

  it('survives a report that is nested too deeply', async () => {
    const { agent, exits } = await running()
    expect(await session().run(agent, 'deep 200000')).toEqual(answered('done'))
    expect(exits).toEqual([])
  })

  it('sends the message and its principal', async () => {
    const { agent } = await running()
    const about = {
      metadata: { channel: 'C1' },
      executionPrincipal: { type: 'end_user', endUserId: 'u-1' },
      attempt: 2,
    } as const
    const outcome = await session().run(agent, 'prompt', about)
    expect(JSON.parse((outcome as { response: string }).response)).toEqual({
      prompt: [{ type: 'text', text: 'prompt' }],
      _meta: {
        'agent-messaging': {
          messageId: 'message-1',
          agentId: 'agent-1',
          sessionId: 'session-1',
          ...about,
        },
      },
    })
  })

  it('sends files as links, and refuses data and schemas', async () => {
    const { runtime } = runtimeOf(testProgram('acp-agent.mjs'))
    const { agent } = await running()
    const url = 'https://files.example/a.pdf'
    const file = { type: 'file', url, mediaType: 'application/pdf' } as const
    const named = { ...file, filename: 'a.pdf', size: 7 }
    const outcome = await session().run(agent, 'prompt', { parts: [file, named] })
    const link = { type: 'resource_link', uri: url, mimeType: 'application/pdf' }
    expect(JSON.parse((outcome as { response: string }).response)).toMatchObject({
      prompt: [
        { type: 'text', text: 'prompt' },
        { ...link, name: url },
        { ...link, name: 'a.pdf', size: 7 },
      ],
    })
    expect(runtime.accepts?.(file, {})).toBeUndefined()
    expect(runtime.accepts?.({ type: 'data', name: 'a', data: 1 }, {})).toContain('not supported')
    expect(runtime.takesResponseSchema).toBeUndefined()
  })

  it('carries the trace in the protocol’s own fields', async () => {
    const { agent } = await running()
    const trace = {
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      tracestate: 'vendor=1',
    }
    const outcome = await session().run(agent, 'prompt', { trace })
    expect(JSON.parse((outcome as { response: string }).response)).toMatchObject({ _meta: trace })
  })

  it('uses the working directory of the program or of the service', async () => {
    const cwd = folder()
    expect(await session().run((await running([], { program: { cwd } })).agent, 'cwd')).toEqual(
      answered(cwd),
    )
    expect(await session().run((await running()).agent, 'cwd')).toEqual(answered(process.cwd()))
  })

  it('ignores images, later kinds of updates, other sessions and noise', async () => {
    const { agent, exits, log } = await running()
    const { run, chunks } = session()
    expect(await run(agent, 'noise')).toEqual(answered('heard'))
    expect(chunks.filter((one) => typeof one === 'string')).toEqual(['heard'])
    expect(await run(agent, 'and now?')).toEqual(answered('You said: and now?'))
    expect(exits).toEqual([])
    const strays = log.map(
      (line) =>
        JSON.parse(line.slice('program.stray_line '.length)) as { line: string; why: string },
    )
    expect(strays.map(({ line }) => line)).toEqual([
      'Debugger attached.',
      '{"jsonrpc":"2.0","method":"session/upd',
      '[]',
      '7',
      'null',
      '{}',
      '{"jsonrpc":"2.0","id":4711,"result":{"stopReason":"end_turn"}}',
      expect.stringContaining('"id":null') as string,
    ])
  })

  it('survives an agent that prints before it reads', async () => {
    const { agent } = await running()
    expect(await session().run(agent, 'babble 20000')).toEqual(answered('done'))
  })

  it('includes every piece before the end of the turn, and ends once', async () => {
    const { agent } = await running()
    const { run } = session()
    const all = Array.from({ length: 2_000 }, (_, index) => `${index} `).join('')
    expect(await run(agent, 'burst 2000')).toEqual(answered(all))
    expect(await run(agent, 'still there?')).toEqual(answered('You said: still there?'))
  })

  it.each(['fs/read_text_file', 'terminal/create', 'elicitation/create', '_of/theirs'])(
    'rejects the agent’s request %s',
    async (method) => {
      const { agent } = await running([], { program: { permissions: 'allow' } })
      expect(await session().run(agent, `asks ${method}`)).toEqual(answered('refused with -32601'))
    },
  )

  it.each([
    ['stop max_tokens as far as', answered('as far as')],
    ['stop max_turn_requests half', answered('half')],
    [
      'stop max_tokens',
      failed('RUNTIME_ERROR', 'the agent reached its limit (max_tokens) before any text', false),
    ],
    ['stop refusal', failed('RUNTIME_ERROR', 'the agent refused', false)],
    ['stop refusal not that', failed('RUNTIME_ERROR', 'the agent refused: not that', false)],
    ['stop cancelled', failed('RUNTIME_ERROR', 'the agent cancelled its turn', false)],
    [
      'stop bored',
      failed('RESPONSE_INVALID', 'the agent ended its turn with an unknown stop reason', false),
    ],
    ['stop end_turn', answered('')],
    ['throw', failed('RUNTIME_ERROR', 'Internal error: no model at home', true)],
    ['invalid', failed('RUNTIME_ERROR', 'Invalid params: no such slash command', false)],
  ])('has the right outcome for "%s"', async (prompt, outcome) => {
    const { agent } = await running()
    expect(await session().run(agent, prompt)).toEqual(outcome)
  })

  it('fails and is cancelled when the answer is too long', async () => {
    const { agent } = await running([], { limits: { maxAnswerLength: 5_000 } })
    const { run, chunks } = session()
    expect(await run(agent, 'flood')).toEqual(
      failed('RESPONSE_INVALID', "the agent's answer has more than 5000 characters", false),
    )
    expect(chunks.join('')).toHaveLength(5_000)
    expect(await run(agent, 'huge 5000')).toEqual(answered('y'.repeat(5_000)))
    expect(await run(agent, 'huge 5001')).toMatchObject({ error: { code: 'RESPONSE_INVALID' } })
  })

  it('overlaps with turns of other sessions', async () => {
    const { agent } = await running()
    const stopped = new AbortController()
    const first = session('session-1')
    const waits = first.run(agent, 'wait', {}, stopped.signal)
    await expect.poll(() => first.chunks).toEqual(['waiting'])
    expect(await session('session-2').run(agent, 'turns')).toEqual(answered('turns'))
    stopped.abort()
    await waits
  })
})

describe('permissions', () => {
  it.each([
    [undefined, 'once execute', 'id of reject_once'],
    ['deny', 'always execute', 'id of reject_always'],
    ['deny', 'yes execute', 'cancelled'],
    ['allow', 'once execute', 'id of allow_once'],
    ['allow', 'always execute', 'cancelled'],
    [{ allow: ['read', 'execute'] }, 'once execute', 'id of allow_once'],
    [{ allow: ['read'] }, 'once execute', 'id of reject_once'],
    [{ allow: ['read'] }, 'once of_next_year', 'id of reject_once'],
    [{ allow: ['other'] }, 'once of_next_year', 'id of allow_once'],
  ] as const)('with the policy %j and the options %s: %s', async (permissions, request, answer) => {
    const { agent, log } = await running([], permissions ? { program: { permissions } } : {})
    expect(await session().run(agent, `permission ${request}`)).toEqual(answered(answer))
    expect(log).toEqual([
      expect.stringContaining('program.permission {"agentId":"agent-1","program":"coder"'),
    ])
  })
})

describe('sessions', () => {
  it('each have their own lasting session of the agent', async () => {
    const { agent } = await running()
    const first = session('session-1')
    const second = session('session-2')
    await first.run(agent, 'one')
    await second.run(agent, 'two')
    expect(await first.run(agent, 'turns')).toEqual(answered('one|turns'))
    expect(first.kept.state).not.toBe(second.kept.state)
  })

  it('are stored before the prompt', async () => {
    const { agent } = await running()
    const { run, chunks } = session()
    const remember = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      expect(chunks).toEqual([])
      throw new Error('the lease is lost')
    }
    expect(await run(agent, 'hello', { remember })).toEqual(
      failed('RUNTIME_ERROR', 'the lease is lost', true),
    )
    expect(chunks).toEqual([])
  })

  it.each([
    ['loads', ['--load'], 'loaded'],
    ['resumes', ['--load', '--resume'], 'resumed'],
  ])('reopen in an agent that %s them, and ignore the replay', async (_, args, opened) => {
    const store = `--store=${path.join(folder(), 'sessions.json')}`
    const before = await running([...args, store])
    const { run, chunks, kept } = session()
    await run(before.agent, 'my cat is Tom')
    await before.agent.stop()
    const { state } = kept
    chunks.length = 0

    const { agent } = await running([...args, store])
    expect(await run(agent, 'turns')).toEqual(answered(`my cat is Tom|${opened}|turns`))
    expect(chunks).toHaveLength(1)
    expect(kept.state).toBe(state)
  })

  const past = [{ message: 'my cat is "Tom"', response: 'noted' }]
  const recounted =
    'This conversation started earlier. Its latest turns as JSON, oldest first:\n' +
    '[{"user":"my cat is \\"Tom\\"","you":"noted"}]\nThe conversation continues here:'

  it.each([
    ['cannot load any', []],
    ['has forgotten them', ['--load', '--store=STORE']],
  ])('start with the history in an agent that %s', async (_, args) => {
    const file = path.join(folder(), 'sessions.json')
    writeFileSync(file, '{}')
    const { agent } = await running(args.map((arg) => arg.replace('STORE', file)))
    const { run, kept } = session('session-1', past)
    kept.state = 'session of another life'
    const { response } = (await run(agent, 'prompt')) as { response: string }
    expect((JSON.parse(response) as { prompt: unknown }).prompt).toEqual([
      { type: 'text', text: recounted },
      { type: 'text', text: 'prompt' },
    ])
    expect(kept.state).toMatch(/^session \d+\.\d+$/)
    expect(await run(agent, 'turns')).toEqual(answered('prompt|turns'))
  })

  it('receive the history until the agent has ended a turn', async () => {
    const { agent } = await running()
    const { run } = session('session-1', past)
    await run(agent, 'throw')
    const { response } = (await run(agent, 'prompt')) as { response: string }
    expect((JSON.parse(response) as { prompt: unknown[] }).prompt).toHaveLength(2)
    const { response: next } = (await run(agent, 'prompt')) as { response: string }
    expect((JSON.parse(next) as { prompt: unknown[] }).prompt).toHaveLength(1)
  })

  it('reopen when a running agent has dropped them', async () => {
    const { agent } = await running(['--load', `--store=${path.join(folder(), 'sessions.json')}`])
    const { run } = session()
    await run(agent, 'my cat is Tom')
    expect(await run(agent, 'evict')).toEqual(failed('RUNTIME_ERROR', 'Resource not found', true))
    expect(await run(agent, 'turns')).toEqual(answered('my cat is Tom|evict|loaded|turns'))
  })

  it('never share one session of the agent', async () => {
    const { agent } = await running(['--one-id'])
    expect(await session('session-1').run(agent, 'hello')).toEqual(answered('You said: hello'))
    expect(await session('session-2').run(agent, 'hello')).toEqual(
      failed('RESPONSE_INVALID', 'the agent gave a new session the id of another session', false),
    )
  })

  it('are not confused when a restarted agent reuses an id', async () => {
    const first = session('session-1')
    const second = session('session-2')
    const before = await running(['--counts'])
    await first.run(before.agent, 'a secret')
    await before.agent.stop()
    const { agent } = await running(['--counts'])
    await second.run(agent, 'another secret')
    expect(second.kept.state).toBe(first.kept.state)
    expect(await first.run(agent, 'turns')).toEqual(answered('turns'))
    expect(await second.run(agent, 'turns')).toEqual(answered('another secret|turns'))
  })

  it('need an id that is text', async () => {
    const { agent } = await running(['--no-id'])
    expect(await session().run(agent, 'hello')).toEqual(
      failed('RESPONSE_INVALID', "the agent's new session has no id that can be stored", false),
    )
  })

  it('open in time, or the agent is ended', async () => {
    const { agent, exits } = await running(['--slow'], { limits: { sessionTimeoutMs: 50 } })
    expect(await session().run(agent, 'hello')).toEqual(
      failed('RUNTIME_TIMEOUT', 'the agent did not answer session/new within 50 ms', true),
    )
    await expect
      .poll(() => exits)
      .toEqual([
        { code: 'RUNTIME_EXITED', message: 'the agent was ended because it stopped responding' },
      ])
  })

  it('that do not open in time do not end a busy agent', async () => {
    const { agent, exits } = await running(['--one'], { limits: { sessionTimeoutMs: 3_000 } })
    const { run, chunks } = session('session-1')
    const aborter = new AbortController()
    const waits = run(agent, 'wait', {}, aborter.signal)
    await expect.poll(() => chunks).toEqual(['waiting'])
    expect(await session('session-2').run(agent, 'hello')).toMatchObject({
      error: { code: 'RUNTIME_TIMEOUT' },
    })
    aborter.abort()
    expect(await waits).toEqual(failed('RUNTIME_ERROR', 'the agent cancelled its turn', false))
    expect(exits).toEqual([])
  })

  it('report a required login', async () => {
    const { agent } = await running(['--login'])
    const message =
      'the agent requires a login (Authentication required). ' +
      "Log in to the program first, or set the program's login to one of: browser, api-key"
    expect(await session().run(agent, 'hello')).toEqual(failed('RUNTIME_ERROR', message, false))
  })

  it('open after the configured login', async () => {
    const { agent } = await running(['--login'], { program: { login: 'api-key' } })
    expect(await session().run(agent, 'hello')).toEqual(answered('You said: hello'))
    expect(
      await startError(testProgram('acp-agent.mjs', '--login'), { program: { login: 'browser' } }),
    ).toEqual({
      code: 'RUNTIME_EXITED',
      message: 'the agent did not start: Invalid params: no browser here',
    })
  })
})

describe('an aborted run', () => {
  it('ends with the agent’s turn, and the session goes on', async () => {
    const { agent } = await running()
    const { run, chunks, kept } = session()
    const aborter = new AbortController()
    const outcome = run(agent, 'wait', {}, aborter.signal)
    await expect.poll(() => chunks).toEqual(['waiting'])
    aborter.abort()
    expect(await outcome).toEqual(failed('RUNTIME_ERROR', 'the agent cancelled its turn', false))
    const { state } = kept
    expect(await run(agent, 'turns')).toEqual(answered('wait|turns'))
    expect(kept.state).toBe(state)
  })

  it('fails if the agent does not end its turn, and drops its late text', async () => {
    const { agent } = await running(['--load'], { limits: { cancelGraceMs: 50 } })
    const { run, chunks, kept } = session()
    const aborter = new AbortController()
    const outcome = run(agent, 'deaf', {}, aborter.signal)
    await expect.poll(() => chunks).toEqual(['deaf'])
    aborter.abort()
    expect(await outcome).toEqual(
      failed('RUNTIME_TIMEOUT', 'the agent did not end its turn when it was cancelled', false),
    )
    const { state } = kept
    expect(await run(agent, 'turns')).toEqual(answered('turns'))
    expect(kept.state).not.toBe(state)
    expect(chunks).toEqual(['deaf', 'turns'])
  })

  it('gets no more permissions', async () => {
    const { agent } = await running([], { program: { permissions: 'allow' } })
    const { run, chunks } = session()
    const aborter = new AbortController()
    const outcome = run(agent, 'nag', {}, aborter.signal)
    await expect.poll(() => chunks).toEqual(['waiting'])
    aborter.abort()
    await outcome
    expect(await run(agent, 'turns')).toEqual(answered('nag|cancelled|turns'))
  })

  it('sends no prompt if it is aborted before', async () => {
    const { agent } = await running()
    const { run, chunks } = session()
    expect(await run(agent, 'hello', {}, AbortSignal.abort(new Error('too late')))).toMatchObject({
      kind: 'failed',
    })
    const aborter = new AbortController()
    const remember = async () => aborter.abort(new Error('too late'))
    expect(await run(agent, 'hello', { remember }, aborter.signal)).toMatchObject({
      error: { message: 'too late' },
    })
    expect(chunks).toEqual([])
  })

  it('does not wait for a session', async () => {
    const { agent } = await running(['--slow'])
    const aborter = new AbortController()
    const outcome = session().run(agent, 'hello', {}, aborter.signal)
    aborter.abort(new Error('too late'))
    expect(await outcome).toMatchObject({ error: { message: 'too late' } })
  })
})

describe('an agent that ends', () => {
  it('loses its runs with the reason and is reported once', async () => {
    const { agent, exits, log } = await running()
    const waits = session('session-2').run(agent, 'wait')
    const lost = failed(
      'RUNTIME_LOST',
      'the agent exited with code 3: out of memory, sort of',
      true,
    )
    expect(await session('session-1').run(agent, 'leave 3')).toEqual(lost)
    expect(await waits).toEqual(lost)
    expect(exits).toEqual([
      { code: 'RUNTIME_EXITED', message: 'the agent exited with code 3: out of memory, sort of' },
    ])
    expect(log).toEqual([
      'program.stderr {"agentId":"agent-1","program":"coder","line":"out of memory, sort of"}',
    ])
    expect(await agent.health(never)).toEqual({
      ok: false,
      detail: 'the agent closed its connection',
    })
    expect(await session().run(agent, 'hello')).toEqual(lost)
    await agent.stop()
    expect(exits).toHaveLength(1)
  })

  it('by a signal loses its runs', async () => {
    const { agent, exits } = await running()
    expect(await session().run(agent, 'crash')).toEqual(
      failed('RUNTIME_LOST', 'the agent was killed by SIGSEGV', true),
    )
    expect(exits).toHaveLength(1)
  })

  it.each([
    ['a report', 'huge'],
    ['a request', 'hugeRequest'],
    ['the response', 'hugeResponse'],
  ])('ends only its own turn after %s that is too long', async (_, behaviour) => {
    const { agent, exits } = await running()
    const other = session('session-2')
    const stopped = new AbortController()
    const waits = other.run(agent, 'wait', {}, stopped.signal)
    await expect.poll(() => other.chunks).toEqual(['waiting'])
    const { run } = session('session-1')
    expect(await run(agent, `${behaviour} ${9 * 1024 * 1024}`)).toEqual(
      failed('RESPONSE_INVALID', 'the agent sent a message of more than 8388608 bytes', false),
    )
    expect(await run(agent, 'and now?')).toEqual(answered('You said: and now?'))
    stopped.abort()
    expect(await waits).toEqual(failed('RUNTIME_ERROR', 'the agent cancelled its turn', false))
    expect(exits).toEqual([])
  })

  it('survives a long line that is not a message', async () => {
    const { agent, exits, log } = await running()
    expect(await session().run(agent, `hugeLine ${9 * 1024 * 1024}`)).toEqual(answered('done'))
    expect(exits).toEqual([])
    expect(log.join()).toContain('the line is a message of more than 8388608 bytes')
  })

  it('is ended after a long message that names no turn', async () => {
    const { agent, exits } = await running()
    const { run } = session()
    const { response } = (await run(agent, 'pid')) as { response: string }
    expect(await run(agent, `hugeUnknown ${9 * 1024 * 1024}`)).toEqual(
      failed('RUNTIME_LOST', 'the agent sent a message of more than 8388608 bytes', true),
    )
    expect(exits).toHaveLength(1)
    expect(isAlive(Number(response))).toBe(false)
  })
})

describe('stopping', () => {
  it('ends the runs and the process without reporting an exit', async () => {
    const { agent, exits } = await running()
    const { run, chunks } = session()
    const { response } = (await session('session-2').run(agent, 'pid')) as { response: string }
    expect(await agent.health(never)).toEqual({ ok: true })
    const waits = run(agent, 'wait')
    await expect.poll(() => chunks).toEqual(['waiting'])
    await agent.stop()
    expect(isAlive(Number(response))).toBe(false)
    expect(await waits).toEqual(failed('RUNTIME_LOST', 'the agent was stopped', true))
    expect(exits).toEqual([])
  })

  it('kills an agent that does not end', async () => {
    const { agent, log } = await runningProgram(testProgram('acp-rude.mjs', 'stubborn'), {
      limits: { stopGraceMs: 50 },
    })
    await expect.poll(() => log).toEqual([expect.stringContaining('pid')])
    const pid = Number(/pid (\d+)/.exec(log[0] ?? '')?.[1])
    expect(isAlive(pid)).toBe(true)
    await agent.stop()
    expect(isAlive(pid)).toBe(false)
  })
})

describe('a program that does not start', () => {
  it.each([
    ['silent', 'the agent did not start: the agent did not answer initialize within 700 ms'],
    ['garbage', 'the agent did not start: the agent did not answer initialize within 700 ms'],
    ['no-answer', 'the agent did not start: its response to initialize is not valid'],
    [
      'other-version',
      'the agent did not start: the protocol version is 99, and this service supports 1',
    ],
    ['endless', expect.stringMatching(/^the agent sent a message of more than 8388608 bytes$/)],
    ['leaves', 'the agent exited with code 4: no licence found'],
    ['hangs-up', expect.stringMatching(/^the agent /)],
  ])('reports its behaviour "%s"', async (behaviour, message) => {
    const startTimeoutMs = behaviour === 'silent' || behaviour === 'garbage' ? 700 : 20_000
    const error = await startError(testProgram('acp-rude.mjs', behaviour), {
      limits: { startTimeoutMs, stopGraceMs: 50 },
    })
    expect(error).toEqual({ code: 'RUNTIME_EXITED', message })
  })

  it('is ended when the service stops', async () => {
    const { runtime, log } = runtimeOf(testProgram('acp-rude.mjs', 'silent'), {
      limits: { stopGraceMs: 50 },
    })
    const stopping = new AbortController()
    const starting = runtime.start(coder(), () => expect.unreachable(), stopping.signal)
    await vi.waitUntil(() => log.length > 0, { timeout: 60_000 })
    stopping.abort()
    expect(unwrapError(await starting)).toMatchObject({ code: 'RUNTIME_EXITED' })
    expect(isAlive(Number(/pid (\d+)/.exec(log[0] ?? '')?.[1]))).toBe(false)
  })

  it('reports a missing command', async () => {
    const error = await startError({ command: '/nowhere/agent' })
    expect(error).toEqual({
      code: 'RUNTIME_EXITED',
      message: expect.stringMatching(/^the agent exited with code 127/) as string,
    })
  })

  it('reports a program that the operator has removed', async () => {
    const { runtime } = runtimeOf(testProgram('acp-agent.mjs'))
    const started = await runtime.start(coder('gone'), () => expect.unreachable())
    expect(unwrapError(started)).toEqual({
      code: 'RUNTIME_EXITED',
      message: 'this process has no program "gone"',
    })
    expect(['coder', 'gone'].map((program) => runtime.has?.({ program }))).toEqual([true, false])
  })
})
