import { fileURLToPath } from 'node:url'
import type {
  AnsweredInput,
  AskingRun,
  PartEvent,
  RunningAgent,
  RunOutcome,
  RunRequest,
} from '@org/agent-messaging-core/runtime'
import { anAgent, aRunRequest, fakeClock, unwrap } from '@org/agent-messaging-testing'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { AcpLimits } from './acp-limits.js'
import type { PermissionPolicy } from './acp-permissions.js'
import { acpRuntime } from './acp-runtime.js'

type Setting = { readonly limits?: Partial<AcpLimits>; readonly permissions?: PermissionPolicy }

/** Starts an agent that is built on the SDK. By default a person decides on all its tools. */
async function running({ limits = {}, permissions = 'ask' }: Setting = {}) {
  const log: string[] = []
  const script = fileURLToPath(new URL('../../test/acp-agent.mjs', import.meta.url))
  const runtime = acpRuntime({
    programs: { coder: { command: process.execPath, args: [script], permissions } },
    environment: process.env,
    log: ({ answer }) => log.push(String(answer)),
    clock: fakeClock(),
    limits,
  })
  const agent = anAgent({ runtime: { kind: 'acp', options: { program: 'coder' } } })
  const started = await runtime.start({ agent, secrets: {} }, () => undefined)
  const coder = unwrap(started)
  onTestFinished(() => coder.stop())
  return { coder, log }
}

/** The states of the service's sessions. */
const states = new Map<string, string>()
beforeEach(() => states.clear())

/** The runs of one message, with the answers of people. */
function aMessage(message: string, { sessionId = 'session-1', messageId = message } = {}) {
  const inputs: AnsweredInput[] = []
  const chunks: (string | PartEvent)[] = []
  let asked: AskingRun | undefined
  return {
    inputs,
    chunks,
    async run(
      agent: RunningAgent,
      more: Partial<RunRequest> = {},
      signal = new AbortController().signal,
    ): Promise<RunOutcome> {
      chunks.length = 0
      const emit: RunRequest['emit'] = (emitted) => void chunks.push(emitted)
      const sessionState = states.get(sessionId)
      const request = aRunRequest({
        messageId,
        sessionId,
        message,
        emit,
        inputs: [...inputs],
        ...(sessionState !== undefined && { sessionState }),
        remember: async (state) => void states.set(sessionId, state),
        ...more,
      })
      const outcome = await agent.run(request, signal)
      asked = outcome.kind === 'input_required' ? outcome : undefined
      return outcome
    },
    answer(value: string) {
      if (!asked) throw new Error('the message asks nothing')
      const { question, options = [] } = asked
      inputs.push({ id: `input-${inputs.length}`, question, options, value })
    },
  }
}

const answered = (response: string) => ({ kind: 'answered', response })
const asks = (title: string) => ({
  kind: 'input_required',
  question: `The agent asks for permission: ${title}\nTool: execute\nInput: {"run":"${title}"}`,
  options: ['Once', 'Always', 'No'],
})

describe('a permission that a person decides', () => {
  it.each([
    ['Once', 'id of once', 'allow_once'],
    ['Always', 'id of always', 'allow_always'],
    ['No', 'id of no', 'reject_once'],
  ])('goes back into the waiting turn: %s', async (value, optionId, kind) => {
    const { coder, log } = await running()
    const message = aMessage('approve build')
    expect(await message.run(coder)).toEqual(asks('build'))
    expect(message.chunks).toEqual(['Before.'])
    message.answer(value)
    expect(await message.run(coder)).toEqual(answered(`Before. ${optionId}.`))
    expect(message.chunks).toEqual(['Before.', ` ${optionId}.`])
    expect(log).toEqual(['ask', kind])
    expect(await aMessage('turns').run(coder)).toEqual(answered('approve build|turns'))
  })

  it('is asked only for the kinds of tools that the policy does not allow', async () => {
    const asking = await running({ permissions: { allow: ['read'], otherwise: 'ask' } })
    expect(await aMessage('approve build').run(asking.coder)).toEqual(asks('build'))
    const allowing = await running({ permissions: { allow: ['execute'], otherwise: 'ask' } })
    const outcome = await aMessage('approve build').run(allowing.coder)
    expect(outcome).toEqual(answered('Before. id of once.'))
  })

  it('is asked again for the same tool call in one turn', async () => {
    const { coder } = await running()
    const message = aMessage('approve build build')
    expect(await message.run(coder)).toEqual(asks('build'))
    message.answer('Once')
    expect(await message.run(coder)).toEqual(asks('build'))
    message.answer('No')
    expect(await message.run(coder)).toEqual(answered('Before. id of once. id of no.'))
  })

  it('is asked one after the other if the agent requests several at once', async () => {
    const { coder } = await running()
    const message = aMessage('approve build+test')
    expect(await message.run(coder)).toEqual(asks('build'))
    message.answer('Once')
    expect(await message.run(coder)).toEqual(asks('test'))
    message.answer('No')
    expect(await message.run(coder)).toEqual(answered('Before. id of once. id of no.'))
  })

  it('goes back into a turn that emits its parts and text again, in their order', async () => {
    const { coder } = await running()
    const message = aMessage('planned build')
    const entries = [{ content: 'ask', priority: 'high', status: 'in_progress' }]
    const before = [{ type: 'data', name: 'plan', id: 'plan', data: { entries } }, 'Before.']
    await message.run(coder)
    expect(message.chunks).toEqual(before)
    message.answer('Once')
    await message.run(coder)
    expect(message.chunks).toEqual([...before, ' id of once.'])
  })

  it('overlaps with turns of other sessions', async () => {
    const { coder } = await running()
    const first = aMessage('approve build')
    const second = aMessage('approve test', { sessionId: 'session-2' })
    expect(await first.run(coder)).toEqual(asks('build'))
    expect(await second.run(coder)).toEqual(asks('test'))
    second.answer('No')
    first.answer('Once')
    expect(await second.run(coder)).toEqual(answered('Before. id of no.'))
    expect(await first.run(coder)).toEqual(answered('Before. id of once.'))
  })
})

describe('a message whose turn is lost', () => {
  it('gets a new turn after a restart that uses the recorded answers', async () => {
    const before = await running()
    const message = aMessage('approve build test')
    expect(await message.run(before.coder)).toEqual(asks('build'))
    message.answer('Once')
    await before.coder.stop()
    const after = await running()
    expect(await message.run(after.coder)).toEqual(asks('test'))
    message.answer('No')
    await after.coder.stop()
    const last = await running()
    expect(await message.run(last.coder)).toEqual(answered('Before. id of once. id of no.'))
    expect(last.log).toEqual(['ask', 'allow_once', 'ask', 'reject_once'])
  })

  it('asks again if the new turn requests something else', async () => {
    const before = await running()
    const message = aMessage('approve build')
    await message.run(before.coder)
    message.answer('Once')
    await before.coder.stop()
    const { coder } = await running()
    const changed = { message: 'approve deploy build' }
    expect(await message.run(coder, changed)).toEqual(asks('deploy'))
    message.answer('No')
    expect(await message.run(coder, changed)).toEqual(answered('Before. id of no. id of once.'))
  })

  it('gets a new turn when its turn has waited too long', async () => {
    const { coder } = await running({ limits: { waitingTurnMs: 1 } })
    const message = aMessage('approve build')
    expect(await message.run(coder)).toEqual(asks('build'))
    message.answer('Once')
    const other = aMessage('approve test', { sessionId: 'session-2' })
    expect(await other.run(coder)).toEqual(asks('test'))
    expect(await message.run(coder)).toEqual(answered('Before. id of once.'))
  })

  it('gets a new turn when too many newer turns wait', async () => {
    const { coder, log } = await running({ limits: { maxWaitingTurns: 1 } })
    const first = aMessage('approve build')
    const second = aMessage('approve test', { sessionId: 'session-2' })
    await first.run(coder)
    await second.run(coder)
    first.answer('Once')
    second.answer('Once')
    expect(await first.run(coder)).toEqual(answered('Before. id of once.'))
    expect(await second.run(coder)).toEqual(answered('Before. id of once.'))
    // The agent of the first message was asked in two turns.
    expect(log.filter((answer) => answer === 'ask')).toHaveLength(3)
    expect(log).toContain('cancelled')
  })
})

describe('a waiting turn', () => {
  it('is cancelled before the next message of its session', async () => {
    const { coder, log } = await running()
    await aMessage('approve build').run(coder)
    const next = await aMessage('turns').run(coder)
    expect(log).toEqual(['ask', 'cancelled'])
    expect(next).toEqual(answered('approve build|cancelled|turns'))
  })

  it('is cancelled when its message starts again without its answers', async () => {
    const { coder, log } = await running()
    const message = aMessage('approve build')
    await message.run(coder)
    expect(await message.run(coder)).toEqual(asks('build'))
    expect(log).toEqual(['ask', 'cancelled', 'ask'])
  })

  it('is cancelled when its run is aborted', async () => {
    const { coder, log } = await running()
    const message = aMessage('approve build')
    await message.run(coder)
    message.answer('Once')
    const outcome = await message.run(coder, {}, AbortSignal.abort())
    expect(outcome.kind).not.toBe('input_required')
    expect(log[0]).toBe('ask')
    expect(await aMessage('hello').run(coder)).toEqual(answered('You said: hello'))
  })

  it('ends with its program', async () => {
    const { coder, log } = await running({ limits: { maxWaitingTurns: 1 } })
    const message = aMessage('approve build')
    await message.run(coder)
    await aMessage('leave 3', { sessionId: 'session-2' }).run(coder)
    message.answer('Once')
    expect(await message.run(coder)).toMatchObject({
      kind: 'failed',
      error: { code: 'RUNTIME_LOST' },
      retryable: true,
    })
    expect(log[0]).toBe('ask')
  })
})
