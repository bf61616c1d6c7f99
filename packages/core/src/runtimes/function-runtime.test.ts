import { describe, expect, it } from 'vitest'
import { anAgent, aRunRequest } from '../testing/index.js'
import { functionRuntime, type AgentFunction } from './function-runtime.js'

const request = aRunRequest({ message: 'hi' })

async function outcomeOf(handler: AgentFunction) {
  const runtime = functionRuntime({ it: handler })
  const agent = anAgent({ runtime: { kind: 'function', options: { handler: 'it' } } })
  const running = (await runtime.start({ agent, secrets: {} }, () => undefined))._unsafeUnwrap()
  expect(await running.health(new AbortController().signal)).toEqual({ ok: true })
  const outcome = await running.run(request, new AbortController().signal)
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
    expect((await runtime.parseOptions({ handler: 'echo' }))._unsafeUnwrap()).toEqual({
      options: { handler: 'echo' },
      secrets: {},
    })
  })
  it.each([[{}], [{ handler: 'toString' }], [{ handler: 7 }]])('%j name none', async (options) => {
    expect((await runtime.parseOptions(options))._unsafeUnwrapErr()).toBe(
      'handler must be one of: echo',
    )
  })
  it('have nothing else', async () => {
    expect((await runtime.parseOptions({ handler: 'echo', code: 'x' }))._unsafeUnwrapErr()).toBe(
      'code is not an option of function agents',
    )
  })
  it('with a handler that this process lacks does not start', async () => {
    const agent = anAgent({ runtime: { kind: 'function', options: { handler: 'gone' } } })
    expect(
      (await runtime.start({ agent, secrets: {} }, () => undefined))._unsafeUnwrapErr().message,
    ).toBe('this process has no handler "gone"')
  })
})
