import { describe, expect, it } from 'vitest'
import { anAgent, aRunRequest, unwrap, unwrapError } from '@org/agent-messaging-testing'
import type { RunRequest } from '../ports/agent-runtime.js'
import { functionRuntime, type AgentFunction } from './function-runtime.js'

const request = aRunRequest({ message: 'hi' })

async function outcomeOf(handler: AgentFunction, inputs: RunRequest['inputs'] = []) {
  const runtime = functionRuntime({ it: handler })
  const agent = anAgent({ runtime: { kind: 'function', options: { handler: 'it' } } })
  const running = unwrap(await runtime.start({ agent, secrets: {} }, () => undefined))
  expect(await running.health(new AbortController().signal)).toEqual({ ok: true })
  const outcome = await running.run({ ...request, inputs }, new AbortController().signal)
  await running.stop()
  return outcome
}

describe('an agent that is a function', () => {
  it('answers with the value that the function returns or resolves to', async () => {
    expect(await outcomeOf(({ message }) => message)).toEqual({ kind: 'answered', response: 'hi' })
    expect(await outcomeOf(async ({ signal }) => String(signal.aborted))).toEqual({
      kind: 'answered',
      response: 'false',
    })
  })
  it('reports the sum of the tokens that it used, also when it fails', async () => {
    const answer = await outcomeOf(({ reportUsage }) => {
      reportUsage({ inputTokens: 10 })
      reportUsage({ inputTokens: 5, outputTokens: 2 })
      reportUsage({ inputTokens: -1, outputTokens: 0.5 })
      return 'hi'
    })
    const usage = { inputTokens: 15, outputTokens: 2 }
    expect(answer).toEqual({ kind: 'answered', response: 'hi', usage })
    const failure = await outcomeOf(({ reportUsage }) => {
      reportUsage({ outputTokens: 3 })
      throw new Error('no')
    })
    expect(failure).toMatchObject({ kind: 'failed', usage: { outputTokens: 3 } })
  })
  it.each<[string, AgentFunction, string]>([
    [
      'throws',
      () => {
        throw new Error('sync')
      },
      'sync',
    ],
    [
      'rejects',
      async () => {
        throw new Error('async')
      },
      'async',
    ],
    [
      'throws something else',
      () => {
        throw 'words'
      },
      'words',
    ],
    [
      'throws nothing',
      () => {
        throw null
      },
      'null',
    ],
    [
      'throws what has no words',
      () => {
        throw Object.create(null)
      },
      'the thrown value has no text',
    ],
    [
      'throws what cannot be stored',
      () => {
        throw new Error('a\0b')
      },
      'the agent failed',
    ],
    [
      'throws a book',
      () => {
        throw new Error('x'.repeat(5_000))
      },
      'x'.repeat(1_000),
    ],
    [
      'throws a book with a character where it is cut',
      () => {
        throw new Error(`${'x'.repeat(999)}😀`)
      },
      'x'.repeat(999),
    ],
  ])('fails for good when it %s', async (_, handler, message) => {
    expect(await outcomeOf(handler)).toEqual({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message },
      retryable: false,
    })
  })
  it('is tried again only when its error says so', async () => {
    const outcome = await outcomeOf(() => {
      throw Object.assign(new Error('busy'), { retryable: true })
    })
    expect(outcome).toMatchObject({ kind: 'failed', retryable: true })
  })
})

describe("a function agent's options", () => {
  const runtime = functionRuntime({ echo: ({ message }) => message })

  it('name a handler of the operator', async () => {
    expect(unwrap(await runtime.parseOptions({ handler: 'echo' }))).toEqual({
      options: { handler: 'echo' },
      secrets: {},
    })
  })
  it.each([[{}], [{ handler: 'toString' }], [{ handler: 7 }]])('%j name none', async (options) => {
    expect(unwrapError(await runtime.parseOptions(options))).toBe('handler must be one of: echo')
  })
  it('have nothing else', async () => {
    expect(unwrapError(await runtime.parseOptions({ handler: 'echo', code: 'x' }))).toBe(
      'code is not an option of function agents',
    )
  })
  it('with a handler that this process lacks does not start', async () => {
    const agent = anAgent({ runtime: { kind: 'function', options: { handler: 'gone' } } })
    expect(unwrapError(await runtime.start({ agent, secrets: {} }, () => undefined)).message).toBe(
      'this process has no handler "gone"',
    )
  })
})

describe('ask', () => {
  const input = (question: string, value: string) => ({ id: question, question, value })
  const asksTwice: AgentFunction = async ({ ask }) => {
    const first = await ask('First?', { options: ['a', 'b'], expiresInMs: 1_000 })
    return `${first} ${await ask<number>('Second?', { schema: { type: 'number' } })}`
  }
  const first = { ...input('First?', 'a'), options: ['a', 'b'] }

  it('ends the run with a question, and returns its answer in the next run', async () => {
    expect(await outcomeOf(asksTwice)).toEqual({
      kind: 'input_required',
      question: 'First?',
      options: ['a', 'b'],
      expiresInMs: 1_000,
    })
    expect(await outcomeOf(asksTwice, [first])).toEqual({
      kind: 'input_required',
      question: 'Second?',
      schema: { type: 'number' },
    })
    const second = { ...input('Second?', ''), schema: { type: 'number' }, value: 2 }
    expect(await outcomeOf(asksTwice, [first, second])).toEqual({
      kind: 'answered',
      response: 'a 2',
    })
  })

  it.each([
    ['another text', input('Other?', 'a')],
    ['other options', { ...first, options: ['a'] }],
  ])('fails the run if the answered question has %s', async (_, earlier) => {
    expect(await outcomeOf(asksTwice, [earlier])).toMatchObject({
      kind: 'failed',
      error: { code: 'INPUT_MISMATCH' },
      retryable: false,
    })
  })

  it('counts even if the function catches its exception, and asks once', async () => {
    const stubborn: AgentFunction = async ({ ask }) => {
      await ask('First?').catch(() => undefined)
      await ask('Second?').catch(() => undefined)
      return 'done'
    }
    expect(await outcomeOf(stubborn)).toEqual({ kind: 'input_required', question: 'First?' })
  })

  it('works in a function that yields pieces', async () => {
    async function* pieces({ ask }: Parameters<AgentFunction>[0]) {
      yield 'You said '
      yield await ask('What?')
    }
    expect(await outcomeOf(pieces)).toEqual({ kind: 'input_required', question: 'What?' })
    expect(await outcomeOf(pieces, [input('What?', 'hello')])).toEqual({
      kind: 'answered',
      response: 'You said hello',
    })
  })
})
