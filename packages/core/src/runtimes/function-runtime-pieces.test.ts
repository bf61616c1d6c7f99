import { describe, expect, it } from 'vitest'
import { anAgent, aRunRequest, unwrap } from '@org/agent-messaging-testing'
import {
  functionRuntime,
  type AgentFunction,
  type FunctionRuntimeOptions,
} from './function-runtime.js'

/** Runs the handler. Returns the outcome and the emitted pieces. */
async function outcomeOf(
  handler: AgentFunction,
  {
    signal = new AbortController().signal,
    ...options
  }: FunctionRuntimeOptions & { signal?: AbortSignal } = {},
) {
  const agent = anAgent({ runtime: { kind: 'function', options: { handler: 'it' } } })
  const running = unwrap(
    await functionRuntime({ it: handler }, options).start({ agent, secrets: {} }, () => undefined),
  )
  const shown: unknown[] = []
  const outcome = await running.run(
    { ...aRunRequest({ message: 'hi' }), emit: (chunk) => void shown.push(chunk) },
    signal,
  )
  return { outcome, shown }
}

describe('an agent that answers in pieces', () => {
  it('has each shown as it comes, and answers with all of them', async () => {
    const pieces: AgentFunction = async function* ({ message }) {
      yield message
      yield ' and'
      yield ' bye'
    }
    expect(await outcomeOf(pieces)).toEqual({
      outcome: { kind: 'answered', response: 'hi and bye' },
      shown: ['hi', ' and', ' bye'],
    })
    expect(await outcomeOf(async (request) => pieces(request))).toMatchObject({
      outcome: { response: 'hi and bye' },
    })
  })
  it('can be empty', async () => {
    expect(await outcomeOf(async function* () {})).toEqual({
      outcome: { kind: 'answered', response: '' },
      shown: [],
    })
  })
  it('fails with the error that the iteration throws', async () => {
    const { outcome, shown } = await outcomeOf(async function* () {
      yield 'half'
      throw Object.assign(new Error('torn'), { retryable: true })
    })
    expect(outcome).toEqual({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'torn' },
      retryable: true,
    })
    expect(shown).toEqual(['half'])
  })
  it.each([
    [
      'says something that is no text',
      (): unknown => 7,
      'a piece of the answer is neither a text nor an object',
    ],
    ['does not stop talking', (): unknown => 'again', 'the answer has more than 10 characters'],
  ])('is ended when it %s', async (_, piece, message) => {
    let ended = false
    const { outcome } = await outcomeOf(
      async function* () {
        try {
          for (;;) yield piece() as string
        } finally {
          ended = true
        }
      },
      { maxLength: 10 },
    )
    expect(outcome).toEqual({
      kind: 'failed',
      error: { code: 'RESPONSE_INVALID', message },
      retryable: false,
    })
    expect(ended).toBe(true)
  })
})

describe('an abort', () => {
  it('ends the iteration while the agent works', async () => {
    const aborter = new AbortController()
    let ended = false
    const never: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          queueMicrotask(() => aborter.abort())
          return new Promise(() => {})
        },
        return: () => {
          ended = true
          throw new Error('in its end')
        },
      }),
    }
    const { outcome } = await outcomeOf(() => never, { signal: aborter.signal })
    expect(outcome).toMatchObject({ kind: 'failed', error: { message: 'the run was aborted' } })
    expect(ended).toBe(true)
  })
  it('before the start prevents the iteration, also of an iterator without an end', async () => {
    const unasked: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('was asked')) }),
    }
    const { outcome } = await outcomeOf(() => unasked, { signal: AbortSignal.abort() })
    expect(outcome).toMatchObject({ error: { message: 'the run was aborted' } })
  })
})
