import { unwrap, unwrapError } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import type { RunError } from '@org/agent-messaging-core/runtime'
import { anAgent, aRunRequest } from '../builders.js'
import { fakeRuntime, type FakeRuntimeOptions } from './fake-runtime.js'

const agent = anAgent()
const requestOf = (messageId: string) => aRunRequest({ messageId, agentId: agent.id })

async function startAgent(options?: FakeRuntimeOptions) {
  const runtime = fakeRuntime(options)
  const exits: RunError[] = []
  const started = await runtime.start({ agent, secrets: {} }, (error) => exits.push(error))
  return { runtime, running: unwrap(started), exits, signal: new AbortController().signal }
}

describe('the fake runtime', () => {
  it('keeps a run open until the test answers it', async () => {
    const { runtime, running, signal } = await startAgent()
    const runs = ['a', 'b', 'c'].map((id) => running.run(requestOf(id), signal))
    expect(runtime.openRuns).toEqual(['a', 'b', 'c'])
    runtime.answer('b', 'Hello!')
    runtime.fail('a', 'it broke', { retryable: true })
    runtime.defer('c', 1_000)
    expect(await Promise.all(runs)).toEqual([
      { kind: 'failed', error: { code: 'RUNTIME_ERROR', message: 'it broke' }, retryable: true },
      { kind: 'answered', response: 'Hello!' },
      { kind: 'deferred', deadlineMs: 1_000 },
    ])
    expect(runtime.openRuns).toEqual([])
    expect(runtime.requests.map(({ messageId }) => messageId)).toEqual(['a', 'b', 'c'])
  })

  it('names the open runs when the test answers another one', async () => {
    const { runtime, running, signal } = await startAgent()
    void running.run(requestOf('a'), signal)
    expect(() => runtime.answer('b', 'Hello!')).toThrow('no open run of message b; open are: a')
  })

  it('ends a run that is aborted, before or while it runs', async () => {
    const { running } = await startAgent()
    const aborter = new AbortController()
    const run = running.run(requestOf('a'), aborter.signal)
    aborter.abort()
    expect(await run).toMatchObject({ kind: 'failed', error: { message: 'aborted' } })
    expect(await running.run(requestOf('b'), aborter.signal)).toMatchObject({ kind: 'failed' })
  })

  it('answers with a handler, and fails the run when the handler throws', async () => {
    const { running, signal } = await startAgent({
      handler: ({ message, messageId }) => {
        if (messageId === 'bad') throw new Error('bad luck')
        return { kind: 'answered', response: message.toUpperCase() }
      },
    })
    expect(await running.run(requestOf('a'), signal)).toEqual({
      kind: 'answered',
      response: 'HELLO?',
    })
    expect(await running.run(requestOf('bad'), signal)).toMatchObject({
      kind: 'failed',
      error: { message: 'bad luck' },
      retryable: false,
    })
  })

  it('ends its runs and reports once when the agent exits', async () => {
    const { runtime, running, exits, signal } = await startAgent()
    const run = running.run(requestOf('a'), signal)
    runtime.exit(agent.id, 'segfault')
    expect(await run).toMatchObject({
      kind: 'failed',
      error: { code: 'RUNTIME_EXITED' },
      retryable: true,
    })
    expect(exits).toEqual([{ code: 'RUNTIME_EXITED', message: 'segfault' }])
    expect(await running.health(signal)).toMatchObject({ ok: false })
    expect(() => runtime.exit(agent.id)).toThrow('does not run')
  })

  it('ends its runs and reports nothing when the agent is stopped', async () => {
    const { runtime, running, exits, signal } = await startAgent()
    expect(await running.health(signal)).toEqual({ ok: true })
    const run = running.run(requestOf('a'), signal)
    await running.stop()
    expect(await run).toMatchObject({ kind: 'failed' })
    expect(exits).toEqual([])
    expect(runtime.openRuns).toEqual([])
  })

  it('fails to start once when it is told so', async () => {
    const runtime = fakeRuntime()
    runtime.failStart('no such handler')
    const start = () => runtime.start({ agent, secrets: {} }, () => undefined)
    expect(unwrapError(await start())).toEqual({
      code: 'RUNTIME_EXITED',
      message: 'no such handler',
    })
    expect((await start()).ok).toBe(true)
    expect(runtime.starts).toHaveLength(2)
  })
})
