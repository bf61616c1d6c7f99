import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunError, RunningAgent, RunRequest } from '@org/agent-messaging-core/runtime'
import { anAgent, aRunRequest, fakeClock } from '@org/agent-messaging-core/testing'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { isAlive } from '../test/processes.js'
import { acpRuntime, type AcpProgram, type AcpRuntimeOptions } from './acp-runtime.js'

const testProgram = (file: string, ...args: string[]): AcpProgram => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(`../test/${file}`, import.meta.url)), ...args],
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

/** An agent built on the SDK, under way. */
async function running(args: readonly string[] = [], setting: Setting = {}) {
  return runningProgram(testProgram('acp-agent.mjs', ...args), setting)
}

async function runningProgram(program: AcpProgram, setting: Setting = {}) {
  const { runtime, log } = runtimeOf(program, setting)
  const exits: RunError[] = []
  const agent = (await runtime.start(coder(), (error) => exits.push(error)))._unsafeUnwrap()
  onTestFinished(() => agent.stop())
  return { agent, exits, log }
}

/** Why a program that behaves like this does not start. */
async function startError(program: AcpProgram, setting: Setting = {}): Promise<RunError> {
  const { runtime } = runtimeOf(program, setting)
  return (await runtime.start(coder(), () => expect.unreachable()))._unsafeUnwrapErr()
}

const never = new AbortController().signal

/** Runs of one session; what they remember is there for the next, as the service does it. */
function session(
  sessionId = 'session-1',
  past: readonly { message: string; response: string }[] = [],
) {
  const kept: { state?: string } = {}
  const chunks: string[] = []
  return {
    kept,
    chunks,
    run: (agent: RunningAgent, message: string, more: Partial<RunRequest> = {}, signal = never) =>
      agent.run(
        aRunRequest({
          ...{ messageId: 'message-1', agentId: 'agent-1', sessionId, message },
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
    expect((await runtime.parseOptions({ program: 'coder' }))._unsafeUnwrap()).toEqual({
      options: { program: 'coder' },
      secrets: {},
    })
  })

  it.each([
    [{}, 'program must be one of: coder'],
    [{ program: 'toString' }, 'program must be one of: coder'],
    [{ program: ['coder'] }, 'program must be one of: coder'],
    [{ program: 'coder', command: 'sh' }, 'command is not an option of acp agents'],
    [{ program: 'coder', permissions: 'allow' }, 'permissions is not an option of acp agents'],
  ])('are not %j', async (options, error) => {
    expect((await runtime.parseOptions(options as never))._unsafeUnwrapErr()).toBe(error)
  })
})

describe('a turn', () => {
  beforeEach(() => {
    // The SDK writes to the console what it cannot use; the console is not ours to write to.
    const complaints = vi.spyOn(console, 'error')
    return () => {
      expect(complaints).not.toHaveBeenCalled()
      complaints.mockRestore()
    }
  })

  it('is answered with all the text that the agent sent, and shows each piece at once', async () => {
    const { agent } = await running()
    const { run, chunks } = session()
    expect(await run(agent, 'tool')).toEqual(answered('Let me look.\n\nIt is a cat.'))
    expect(chunks).toEqual(['Let me look.', '\n\n', 'It is a', ' cat.'])
  })

  it('prompts with the message, and tells whose it is', async () => {
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

  it('hands on the trace under the names that the protocol keeps for it', async () => {
    const { agent } = await running()
    const trace = {
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      tracestate: 'vendor=1',
    }
    const outcome = await session().run(agent, 'prompt', { trace })
    expect(JSON.parse((outcome as { response: string }).response)).toMatchObject({ _meta: trace })
  })

  it('works where the operator says, or where we do', async () => {
    const cwd = folder()
    expect(await session().run((await running([], { program: { cwd } })).agent, 'cwd')).toEqual(
      answered(cwd),
    )
    expect(await session().run((await running()).agent, 'cwd')).toEqual(answered(process.cwd()))
  })

  it('hears nothing of thoughts, plans, pictures, other sessions and noise', async () => {
    const { agent, exits, log } = await running()
    const { run, chunks } = session()
    expect(await run(agent, 'noise')).toEqual(answered('heard'))
    expect(chunks).toEqual(['heard'])
    expect(await run(agent, 'and now?')).toEqual(answered('You said: and now?'))
    expect(exits).toEqual([])
    const strays = log.map(
      (line) =>
        JSON.parse(line.slice('program.stray_line '.length)) as { line: string; why: string },
    )
    expect(strays.map(({ line }) => line)).toEqual([
      ...['Debugger attached.', '{"jsonrpc":"2.0","method":"session/upd', '[]', '7', 'null', '{}'],
      ...[
        '{"jsonrpc":"2.0","id":4711,"result":{"stopReason":"end_turn"}}',
        expect.stringContaining('"id":null') as string,
      ],
    ])
  })

  it('does not stand still over an agent that talks to nobody before it listens', async () => {
    const { agent } = await running()
    expect(await session().run(agent, 'babble 20000')).toEqual(answered('done'))
  })

  it('takes every piece that was sent before the end of the turn, and one end', async () => {
    const { agent } = await running()
    const { run } = session()
    const all = Array.from({ length: 2_000 }, (_, index) => `${index} `).join('')
    expect(await run(agent, 'burst 2000')).toEqual(answered(all))
    expect(await run(agent, 'still there?')).toEqual(answered('You said: still there?'))
  })

  it.each(['fs/read_text_file', 'terminal/create', 'elicitation/create', '_of/theirs'])(
    'gets no %s of ours',
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
      failed(
        'RUNTIME_ERROR',
        'the agent came to its limit (max_tokens) before it said anything',
        false,
      ),
    ],
    ['stop refusal', failed('RUNTIME_ERROR', 'the agent refused', false)],
    ['stop refusal not that', failed('RUNTIME_ERROR', 'the agent refused: not that', false)],
    ['stop cancelled', failed('RUNTIME_ERROR', 'the agent cancelled its turn', false)],
    [
      'stop bored',
      failed(
        'RESPONSE_INVALID',
        'the agent ended its turn for no reason that the protocol knows',
        false,
      ),
    ],
    ['stop end_turn', answered('')],
    ['throw', failed('RUNTIME_ERROR', 'Internal error: no model at home', true)],
    ['invalid', failed('RUNTIME_ERROR', 'Invalid params: no such slash command', false)],
  ])('that ends with "%s"', async (prompt, outcome) => {
    const { agent } = await running()
    expect(await session().run(agent, prompt)).toEqual(outcome)
  })

  it('fails when the answer is too long, and the agent is told to end', async () => {
    const { agent } = await running([], { limits: { maxAnswerLength: 5_000 } })
    const { run, chunks } = session()
    expect(await run(agent, 'flood')).toEqual(
      failed('RESPONSE_INVALID', "the agent's answer has more than 5000 characters", false),
    )
    expect(chunks.join('')).toHaveLength(5_000)
    expect(await run(agent, 'huge 5000')).toEqual(answered('y'.repeat(5_000)))
    expect(await run(agent, 'huge 5001')).toMatchObject({ error: { code: 'RESPONSE_INVALID' } })
  })

  it('goes on beside those of other sessions', async () => {
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
  ] as const)(
    'under %j, to a request with options %s: %s',
    async (permissions, request, answer) => {
      const { agent, log } = await running([], permissions ? { program: { permissions } } : {})
      expect(await session().run(agent, `permission ${request}`)).toEqual(answered(answer))
      expect(log).toEqual([
        expect.stringContaining('program.permission {"agentId":"agent-1","program":"coder"'),
      ])
    },
  )
})

describe('sessions', () => {
  it('are one of the agent each, and last', async () => {
    const { agent } = await running()
    const [first, second] = [session('session-1'), session('session-2')]
    await first.run(agent, 'one')
    await second.run(agent, 'two')
    expect(await first.run(agent, 'turns')).toEqual(answered('one|turns'))
    expect(first.kept.state).not.toBe(second.kept.state)
  })

  it('are kept before the agent is prompted', async () => {
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
  ])(
    'are opened again by an agent that %s them, and their replay is no answer',
    async (_, args, opened) => {
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
    },
  )

  const past = [{ message: 'my cat is "Tom"', response: 'noted' }]
  const recounted =
    'This conversation has gone on before. Its latest turns, oldest first, as JSON:\n' +
    '[{"user":"my cat is \\"Tom\\"","you":"noted"}]\nIt goes on here:'

  it.each([
    ['cannot load any', []],
    ['has forgotten them', ['--load', '--store=STORE']],
  ])('begin anew, with what was said before, in an agent that %s', async (_, args) => {
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

  it('that are new are told what was said before until the agent has taken a turn', async () => {
    const { agent } = await running()
    const { run } = session('session-1', past)
    await run(agent, 'throw')
    const { response } = (await run(agent, 'prompt')) as { response: string }
    expect((JSON.parse(response) as { prompt: unknown[] }).prompt).toHaveLength(2)
    const { response: next } = (await run(agent, 'prompt')) as { response: string }
    expect((JSON.parse(next) as { prompt: unknown[] }).prompt).toHaveLength(1)
  })

  it('are opened again when the agent has let go of them while it ran', async () => {
    const { agent } = await running(['--load', `--store=${path.join(folder(), 'sessions.json')}`])
    const { run } = session()
    await run(agent, 'my cat is Tom')
    expect(await run(agent, 'evict')).toEqual(failed('RUNTIME_ERROR', 'Resource not found', true))
    expect(await run(agent, 'turns')).toEqual(answered('my cat is Tom|evict|loaded|turns'))
  })

  it('are never two of ours in one of the agent', async () => {
    const { agent } = await running(['--one-id'])
    expect(await session('session-1').run(agent, 'hello')).toEqual(answered('You said: hello'))
    expect(await session('session-2').run(agent, 'hello')).toEqual(
      failed('RESPONSE_INVALID', 'the agent gave a new session the id of another', false),
    )
  })

  it('are not taken for one that the agent, started anew, has given the same id', async () => {
    const [first, second] = [session('session-1'), session('session-2')]
    const before = await running(['--counts'])
    await first.run(before.agent, 'a secret')
    await before.agent.stop()
    const { agent } = await running(['--counts'])
    await second.run(agent, 'another secret')
    expect(second.kept.state).toBe(first.kept.state)
    expect(await first.run(agent, 'turns')).toEqual(answered('turns'))
    expect(await second.run(agent, 'turns')).toEqual(answered('another secret|turns'))
  })

  it('have an id that is text', async () => {
    const { agent } = await running(['--no-id'])
    expect(await session().run(agent, 'hello')).toEqual(
      failed(
        'RESPONSE_INVALID',
        'the agent opened a session without an id that can be stored',
        false,
      ),
    )
  })

  it('are opened in time, or the agent is ended', async () => {
    const { agent, exits } = await running(['--slow'], { limits: { sessionTimeoutMs: 50 } })
    expect(await session().run(agent, 'hello')).toEqual(
      failed('RUNTIME_TIMEOUT', 'the agent did not answer session/new within 50 ms', true),
    )
    await expect
      .poll(() => exits)
      .toEqual([
        { code: 'RUNTIME_EXITED', message: 'the agent was ended, for it did not answer any more' },
      ])
  })

  it('that are not opened end no agent that is at work', async () => {
    const { agent, exits } = await running(['--one'], { limits: { sessionTimeoutMs: 1_500 } })
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

  it('need a login where the agent says so', async () => {
    const { agent } = await running(['--login'])
    const words =
      "the agent wants a login, which its program's entry does not name or make (Authentication required); it offers: browser, api-key"
    expect(await session().run(agent, 'hello')).toEqual(failed('RUNTIME_ERROR', words, false))
  })

  it('are open to an agent that has been told how to log in', async () => {
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
  it('ends when the agent has ended its turn, and the session goes on', async () => {
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

  it('is given up when the agent does not end its turn, whose late words are no part of the next answer', async () => {
    const { agent } = await running(['--load'], { limits: { cancelGraceMs: 50 } })
    const { run, chunks, kept } = session()
    const aborter = new AbortController()
    const outcome = run(agent, 'deaf', {}, aborter.signal)
    await expect.poll(() => chunks).toEqual(['deaf'])
    aborter.abort()
    expect(await outcome).toEqual(
      failed('RUNTIME_TIMEOUT', 'the agent did not end its turn when asked to', false),
    )
    const { state } = kept
    expect(await run(agent, 'turns')).toEqual(answered('turns'))
    expect(kept.state).not.toBe(state)
    expect(chunks).toEqual(['deaf', 'turns'])
  })

  it('is given no leave any more', async () => {
    const { agent } = await running([], { program: { permissions: 'allow' } })
    const { run, chunks } = session()
    const aborter = new AbortController()
    const outcome = run(agent, 'nag', {}, aborter.signal)
    await expect.poll(() => chunks).toEqual(['waiting'])
    aborter.abort()
    await outcome
    expect(await run(agent, 'turns')).toEqual(answered('nag|cancelled|turns'))
  })

  it('does not prompt when it is aborted before', async () => {
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
  it('loses its runs, says why, and is reported once', async () => {
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
    expect(await agent.health(never)).toEqual({ ok: false, detail: 'the agent has hung up' })
    expect(await session().run(agent, 'hello')).toEqual(lost)
    await agent.stop()
    expect(exits).toHaveLength(1)
  })

  it('by a signal does so too', async () => {
    const { agent, exits } = await running()
    expect(await session().run(agent, 'crash')).toEqual(
      failed('RUNTIME_LOST', 'the agent was ended by SIGSEGV', true),
    )
    expect(exits).toHaveLength(1)
  })

  it('by too long a message is ended with it', async () => {
    const { agent, exits } = await running()
    const { run } = session()
    const { response } = (await run(agent, 'pid')) as { response: string }
    expect(await run(agent, `huge ${9 * 1024 * 1024}`)).toEqual(
      failed(
        'RUNTIME_LOST',
        expect.stringMatching(/^the agent sent a message of more than 8388608 bytes$/),
        true,
      ),
    )
    expect(exits).toHaveLength(1)
    expect(isAlive(Number(response))).toBe(false)
  })
})

describe('stopping', () => {
  it('ends the runs and the process, and is no exit to report', async () => {
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

  it('leaves nothing of an agent that will not end', async () => {
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
    [
      'no-answer',
      'the agent did not start: its answer to initialize is not what the protocol says',
    ],
    [
      'other-version',
      'the agent did not start: it speaks version 99 of the protocol, and this service version 1',
    ],
    ['endless', expect.stringMatching(/^the agent sent a message of more than 8388608 bytes$/)],
    ['leaves', 'the agent exited with code 4: no licence found'],
    ['hangs-up', expect.stringMatching(/^the agent /)],
  ])('because it is %s', async (manner, message) => {
    const patient = manner === 'silent' || manner === 'garbage' ? 700 : 20_000
    const error = await startError(testProgram('acp-rude.mjs', manner), {
      limits: { startTimeoutMs: patient, stopGraceMs: 50 },
    })
    expect(error).toEqual({ code: 'RUNTIME_EXITED', message })
  })

  it('because the service is to stop', async () => {
    const { runtime, log } = runtimeOf(testProgram('acp-rude.mjs', 'silent'), {
      limits: { stopGraceMs: 50 },
    })
    const stopping = new AbortController()
    const starting = runtime.start(coder(), () => expect.unreachable(), stopping.signal)
    await vi.waitUntil(() => log.length > 0)
    stopping.abort()
    expect((await starting)._unsafeUnwrapErr()).toMatchObject({ code: 'RUNTIME_EXITED' })
    expect(isAlive(Number(/pid (\d+)/.exec(log[0] ?? '')?.[1]))).toBe(false)
  })

  it('because it is not there', async () => {
    const error = await startError({ command: '/nowhere/agent' })
    expect(error).toEqual({
      code: 'RUNTIME_EXITED',
      message: expect.stringMatching(/^the agent exited with code 127/) as string,
    })
  })

  it('because the operator has taken it out', async () => {
    const { runtime } = runtimeOf(testProgram('acp-agent.mjs'))
    const started = await runtime.start(coder('gone'), () => expect.unreachable())
    expect(started._unsafeUnwrapErr()).toEqual({
      code: 'RUNTIME_EXITED',
      message: 'this process has no program "gone"',
    })
    expect(['coder', 'gone'].map((program) => runtime.has?.({ program }))).toEqual([true, false])
  })
})
