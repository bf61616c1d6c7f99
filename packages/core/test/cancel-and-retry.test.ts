import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { createService, type JsonObject } from '@org/agent-messaging-core'
import { failedRun, type RunOutcome } from '@org/agent-messaging-core/runtime'
import { runOf, scene } from './scene.js'

const UNKNOWN = '01890000-0000-7000-8000-00000000dead'

describe('cancelling a message', () => {
  it('ends its run at once, resolves the waiting callers, and sends agent.error with the reason', async () => {
    const { send, service, ref, hook, deliveries, clock, runtime, state, telemetry } = await scene()
    await hook()
    const sending = send('hi', { metadata: { correlationId: 'c1' } })
    await clock.until(() => runtime.openRuns.length === 1)
    const { messageId } = runOf(runtime)
    const cancelled = await service.messages.cancel({ ...ref, messageId })
    expect(cancelled.state).toEqual({ kind: 'cancelled', cancelledAt: clock.now() })
    expect((await sending).message).toEqual(cancelled)
    expect(runtime.openRuns).toEqual([])
    await clock.advance(0)
    expect(await state(messageId)).toEqual(cancelled.state)
    expect(telemetry.facts.map(({ name }) => name)).not.toContain('run.refused')
    const { body } =
      (await deliveries()).find(({ delivery }) => delivery.event === 'agent.error') ?? {}
    expect(JSON.parse(body ?? '').data).toMatchObject({
      messageId,
      error: { code: 'CANCELLED' },
      sessionId: 's',
      correlationId: 'c1',
    })
  })

  it('refuses the answer of an agent that ignores the cancel', async () => {
    let answer: (outcome: RunOutcome) => void = () => undefined
    const handler = () => new Promise<RunOutcome>((resolve) => (answer = resolve))
    const { post, service, ref, clock, runtime, state, telemetry } = await scene({ handler })
    const { id: messageId } = await post()
    await clock.until(() => runtime.requests.length === 1)
    await service.messages.cancel({ ...ref, messageId })
    answer({ kind: 'answered', response: 'too late' })
    await clock.advance(0)
    expect(await state(messageId)).toMatchObject({ kind: 'cancelled' })
    expect(telemetry.facts.map(({ name }) => name)).toContain('run.refused')
  })

  it('ends a run in another process at once if a signal wakes that process', async () => {
    const fakes = await scene({ idle: true })
    let ring = (): void => undefined
    const listen = (_: string, hear: (message: undefined) => void) => (
      (ring = () => hear(undefined)),
      () => undefined
    )
    const runner = createService({
      ...fakes,
      storage: fakes.storage.reopen(),
      signal: { notify: () => undefined, listen },
    })
    await runner.start()
    const { id: messageId } = await fakes.post()
    await fakes.clock.until(() => fakes.runtime.openRuns.length === 1)
    ring() // The signal is about another message.
    await fakes.clock.advance(0)
    expect(fakes.runtime.openRuns).toEqual([messageId])
    await fakes.service.messages.cancel({ ...fakes.ref, messageId })
    ring()
    await fakes.clock.advance(0)
    expect(fakes.runtime.openRuns).toEqual([])
  })

  it('ends a run in another process when that process finds the lease lost', async () => {
    const { post, another, ref, clock, runtime } = await scene({ policy: { runLeaseMs: 3_000 } })
    const { id: messageId } = await post()
    await clock.until(() => runtime.openRuns.length === 1)
    await another().messages.cancel({ ...ref, messageId })
    expect(runtime.openRuns).toHaveLength(1)
    await clock.advance(2_000)
    expect(runtime.openRuns).toEqual([])
  })

  it.each(['this process', 'another'])(
    'tells the agent to end the work, cancelled by %s',
    async (where) => {
      const causes: unknown[] = []
      const handler: NonNullable<Parameters<typeof scene>[0]>['handler'] = (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            causes.push((signal.reason as Error).cause)
            resolve(failedRun('RUNTIME_ERROR', 'aborted'))
          })
        })
      const { post, another, service, ref, clock, runtime } = await scene({
        handler,
        policy: { runLeaseMs: 3_000 },
      })
      const { id: messageId } = await post()
      await clock.until(() => runtime.requests.length === 1)
      await (where === 'another' ? another() : service).messages.cancel({ ...ref, messageId })
      await clock.advance(2_000)
      expect(causes).toEqual(['cancelled'])
    },
  )

  it("runs the session's next message when the agent has ended the turn, or when its time for that is over", async () => {
    const ends: (() => void)[] = []
    const handler = () =>
      new Promise<RunOutcome>((resolve) =>
        ends.push(() => resolve({ kind: 'answered', response: 'late' })),
      )
    const { post, service, ref, clock, runtime } = await scene({
      handler,
      agent: { concurrency: 8 },
    })
    const [first, second, third] = [await post('1'), await post('2'), await post('3')]
    await clock.until(() => runtime.requests.length === 1)
    await service.messages.cancel({ ...ref, messageId: first.id })
    await clock.advance(1_000)
    expect(runtime.requests).toHaveLength(1)
    ends[0]?.()
    await clock.until(() => runtime.requests.length === 2)
    await service.messages.cancel({ ...ref, messageId: second.id })
    await clock.advance(4_000)
    expect(runtime.requests).toHaveLength(2)
    await clock.advance(2_000)
    expect(runtime.requests.map(({ messageId }) => messageId)).toEqual([
      first.id,
      second.id,
      third.id,
    ])
  })

  it('never starts a message that is cancelled while the turn before it still ends', async () => {
    const { post, service, ref, clock, runtime, state } = await scene({
      handler: () => new Promise(() => undefined),
    })
    const [first, second] = [await post('1'), await post('2')]
    await clock.until(() => runtime.requests.length === 1)
    await service.messages.cancel({ ...ref, messageId: first.id })
    await clock.advance(1_000)
    expect(await state(second.id)).toMatchObject({ kind: 'running' })
    await service.messages.cancel({ ...ref, messageId: second.id })
    await clock.advance(20_000)
    expect(runtime.requests).toHaveLength(1)
  })

  it('runs a message that is retried before its cancelled run ends: only the cancelled run loses its lease', async () => {
    const ends: (() => void)[] = []
    const handler = () =>
      new Promise<RunOutcome>((resolve) =>
        ends.push(() => resolve({ kind: 'answered', response: 'done' })),
      )
    const { post, service, ref, clock, runtime, state } = await scene({
      handler,
      policy: { runLeaseMs: 3_000 },
      agent: { maxAttempts: 1 },
    })
    const { id: messageId } = await post()
    await clock.until(() => runtime.requests.length === 1)
    await service.messages.cancel({ ...ref, messageId })
    await service.messages.retry({ ...ref, messageId })
    await clock.advance(6_000)
    expect(runtime.requests.map(({ attempt }) => attempt)).toEqual([1, 1])
    ends[1]?.()
    await clock.advance(0)
    expect(await state(messageId)).toMatchObject({ kind: 'responded' })
  })

  it('runs the next message of the session at once', async () => {
    const { post, service, ref, clock, runtime } = await scene()
    const [first, second, third] = [await post('1'), await post('2'), await post('3')]
    await clock.until(() => runtime.openRuns.length === 1)
    await service.messages.cancel({ ...ref, messageId: second.id })
    await service.messages.cancel({ ...ref, messageId: first.id })
    await clock.advance(0)
    expect(runtime.openRuns).toEqual([third.id])
  })

  it('returns the same for a repeated cancel, and is refused for an answered message', async () => {
    const { post, service, ref, clock, runtime, hook, deliveries } = await scene()
    await hook()
    const { id: messageId } = await post()
    const first = await service.messages.cancel({ ...ref, messageId })
    await clock.advance(1_000)
    expect(await service.messages.cancel({ ...ref, messageId })).toEqual(first)
    expect(
      (await deliveries()).filter(({ delivery }) => delivery.event === 'agent.error'),
    ).toHaveLength(1)

    const { id: other } = await post()
    await clock.until(() => runtime.openRuns.includes(other))
    runtime.answer(other, 'done')
    await clock.advance(0)
    expect(await refusalOf(service.messages.cancel({ ...ref, messageId: other }))).toEqual({
      kind: 'message_final',
    })
  })

  it('is refused for a message that does not exist', async () => {
    const { service, ref, post, storage } = await scene()
    for (const change of [service.messages.cancel, service.messages.retry]) {
      expect(await refusalOf(change({ ...ref, messageId: UNKNOWN }))).toEqual({
        kind: 'message_not_found',
      })
      expect(await refusalOf(change({ ...ref, agent: 'nobody', messageId: UNKNOWN }))).toEqual({
        kind: 'agent_not_found',
      })
    }
    // Erased between the look and the change.
    const { id: messageId } = await post()
    const { cancel, retry } = storage.messages
    const erased = () =>
      storage.messages.erase({ projectId: ref.projectId, agentId: '', sessionId: 's' })
    Object.assign(storage.messages, { cancel: erased, retry: erased })
    for (const change of [service.messages.cancel, service.messages.retry]) {
      expect(await refusalOf(change({ ...ref, messageId }))).toEqual({
        kind: 'message_not_found',
      })
    }
    Object.assign(storage.messages, { cancel, retry })
  })
})

describe('retrying a message', () => {
  it('runs the message like a new one, and callers with its key wait for the answer', async () => {
    const outcomes: RunOutcome[] = [
      failedRun('RUNTIME_ERROR', 'boom'),
      { kind: 'answered', response: 'mended' },
    ]
    const { send, service, ref, runtime, clock } = await scene({
      handler: () => outcomes.shift() ?? failedRun('RUNTIME_ERROR', 'no more'),
    })
    const failed = (await send('hi', { idempotencyKey: 'k' })).message
    expect(failed.state).toMatchObject({ kind: 'failed' })
    const retried = await service.messages.retry({ ...ref, messageId: failed.id })
    expect(retried).toMatchObject({ id: failed.id, attempt: 0, state: { kind: 'queued' } })
    const attaching = send('hi', { idempotencyKey: 'k' })
    await clock.advance(500) // The caller finds the answer by the poll when the run ends early.
    expect(await attaching).toMatchObject({
      attached: true,
      message: { id: failed.id, state: { kind: 'responded', response: 'mended' } },
    })
    expect(runtime.requests.map(({ attempt }) => attempt)).toEqual([1, 1])
  })

  it('is refused for a message that has not failed, and for a full session', async () => {
    const { post, service, ref } = await scene({ agent: { maxQueued: 0 } })
    const first = await post()
    const retry = async (messageId: string) =>
      await refusalOf(service.messages.retry({ ...ref, messageId }))
    expect(await retry(first.id)).toEqual({ kind: 'message_not_retryable' })
    await service.messages.cancel({ ...ref, messageId: first.id })
    await post()
    expect(await retry(first.id)).toEqual({ kind: 'session_full' })
  })

  it('is refused like a send while the agent does not run', async () => {
    const { post, service, ref, clock, storage } = await scene()
    const { id: messageId } = await post()
    await service.messages.cancel({ ...ref, messageId })
    await service.agents.stop(ref)
    await clock.advance(1_000)
    const retry = async () => await refusalOf(service.messages.retry({ ...ref, messageId }))
    expect(await retry()).toEqual({ kind: 'agent_not_running', state: 'stopped' })
    // Deleted between the refusal and the look at why.
    const { get } = storage.agents
    let looks = 0
    Object.assign(storage.agents, {
      get: (projectId: string, name: string) => get(projectId, looks++ === 0 ? name : 'nobody'),
    })
    expect(await retry()).toEqual({ kind: 'agent_not_found' })
  })
})

describe('setting the metadata of a message', () => {
  it('replaces the metadata, and refuses what a send refuses', async () => {
    const { post, service, ref } = await scene()
    const { id: messageId } = await post('hi', { metadata: { a: 1 } })
    const set = (metadata: object, of = messageId) =>
      service.messages.setMetadata({ ...ref, messageId: of, metadata: metadata as JsonObject })
    expect((await set({ b: 2 })).metadata).toEqual({ b: 2 })
    const read = await service.messages.get({ ...ref, messageId })
    expect(read.metadata).toEqual({ b: 2 })
    expect(await refusalOf(set({ a: 'x'.repeat(100_000) }))).toMatchObject({
      kind: 'invalid',
      issues: [{ path: 'metadata' }],
    })
    expect(await refusalOf(set({}, UNKNOWN))).toEqual({ kind: 'message_not_found' })
  })
})
