import { refusalOf, mapped } from '@org/agent-messaging-testing'
import { describe, expect, it, vi } from 'vitest'
import type { AgentRuntime, FinishedRun, RunOutcome } from '@org/agent-messaging-core/runtime'
import { failedRun } from '@org/agent-messaging-core/runtime'
import { runOf, scene } from './scene.js'

const responses = (answer: unknown) => ({
  handler: () => ({ kind: 'answered', response: answer }) as RunOutcome,
})

describe('a session', () => {
  it('runs its next message as soon as the one before it is answered, without a poll', async () => {
    const { post, clock, runtime } = await scene()
    const [first, second] = [await post('1'), await post('2')]
    runtime.answer(first.id, 'ok')
    await clock.advance(0)
    expect(runtime.openRuns).toEqual([second.id])
  })
  it('runs one message at a time, in the order of acceptance', async () => {
    const { post, clock, runtime } = await scene()
    const ids = [await post('1'), await post('2'), await post('3')].map(({ id }) => id)
    for (const id of ids) {
      await clock.until(() => runtime.openRuns.length > 0)
      expect(runtime.openRuns).toEqual([id])
      runtime.answer(id, 'ok')
    }
    await clock.advance(0)
    expect(runtime.requests.map(({ message }) => message)).toEqual(['1', '2', '3'])
  })
  it('runs beside other sessions, up to the concurrency of the agent', async () => {
    const { post, clock, runtime } = await scene({ agent: { concurrency: 2 } })
    for (const sessionId of ['a', 'b', 'c', 'd']) await post('hi', { sessionId })
    await clock.advance(1_000)
    expect(runtime.openRuns).toHaveLength(2)
    runtime.answer(runtime.openRuns[0] ?? '', 'ok')
    await clock.advance(0) // at once, not at the next poll
    expect(runtime.requests).toHaveLength(3)
    expect(runtime.openRuns).toHaveLength(2)
  })
})

describe('messages whose acceptance hangs', () => {
  it('free their slot when the agent has ended while the store is unavailable, up to as many unstored results as slots', async () => {
    const { post, runtime, storage, clock } = await scene({ agent: { concurrency: 2 } })
    const ids: string[] = []
    for (let n = 0; n < 6; n++) ids.push((await post('hi', { sessionId: `s${n}` })).id)
    await clock.advance(0)
    expect(runtime.openRuns).toEqual(ids.slice(0, 2))
    storage.fail('messages.recordRun', { times: Infinity })
    for (const id of ids.slice(0, 2)) runtime.answer(id, 'done')
    await clock.advance(0)
    expect(runtime.openRuns).toEqual(ids.slice(2, 4))
    runtime.answer(ids[2] ?? '', 'done')
    await clock.advance(0)
    expect(runtime.openRuns).toEqual(ids.slice(3, 4))
    storage.fail('messages.recordRun', { times: 0 })
    await clock.advance(1_000)
    expect(runtime.openRuns).toEqual(ids.slice(3, 5))
  })
  it('cause a claim only if an accepted message found no slot', async () => {
    const { post, send, runtime, storage, clock } = await scene({ agent: { concurrency: 1 } })
    const { id } = await post('hi', { idempotencyKey: 'the key' })
    let claims = 0
    const { claimRunnable } = storage.messages
    storage.messages.claimRunnable = (query) => (claims++, claimRunnable(query))
    expect((await send('hi', { idempotencyKey: 'the key', waitMs: 0 })).attached).toBe(true)
    runtime.answer(id, 'done')
    await clock.advance(0)
    expect(claims).toBe(0)
  })
  it('take one slot for their session, and leave the other slots to other sessions', async () => {
    const { send, post, clock, runtime, storage } = await scene({ agent: { concurrency: 2 } })
    const { accept } = storage.messages
    vi.spyOn(storage.messages, 'accept').mockImplementation((message) =>
      message.sessionId === 'locked' ? new Promise<never>(() => undefined) : accept(message),
    )
    for (let n = 0; n < 3; n++) void send('hi', { sessionId: 'locked' })
    const { id } = await post()
    await clock.advance(0)
    expect(runtime.openRuns).toEqual([id])
  })
})

describe('a message that comes during a claim', () => {
  it('runs without waiting for the claim if its agent has many free slots', async () => {
    const { post, clock, runtime, storage } = await scene({ agent: { concurrency: 16 } })
    vi.spyOn(storage.messages, 'claimRunnable').mockReturnValueOnce(
      new Promise<never>(() => undefined),
    )
    await clock.advance(500)
    const { id } = await post()
    expect(runtime.openRuns).toEqual([id])
  })
})

describe('a message that comes while the slots are taken by a claim that is too early for it', () => {
  it('runs as soon as the claim returns', async () => {
    const { post, clock, runtime, storage } = await scene()
    const { claimRunnable } = storage.messages
    let comeBack = (): void => undefined
    const back = new Promise<void>((resolve) => (comeBack = resolve))
    vi.spyOn(storage.messages, 'claimRunnable').mockImplementationOnce((query) =>
      mapped(claimRunnable(query), (none) => back.then(() => none)),
    )
    await clock.advance(500)
    const { id } = await post()
    comeBack()
    await clock.advance(0) // not at the next poll
    expect(runtime.openRuns).toEqual([id])
  })
})

describe('a beat that hangs, as when another client has locked a session', () => {
  it('does not delay queued messages, and the next extension follows when it has ended', async () => {
    const { post, another, clock, ref, runtime, storage, state } = await scene({
      policy: { runLeaseMs: 3_000 },
      agent: { concurrency: 2 },
    })
    const { extendLeases } = storage.messages
    const hanging: (() => void)[] = []
    vi.spyOn(storage.messages, 'extendLeases').mockImplementation((held, until) =>
      new Promise<void>((resolve) => hanging.push(resolve)).then(() => extendLeases(held, until)),
    )
    const { id } = await post()
    await clock.until(() => hanging.length === 1)
    const { message } = await another().messages.send({
      ...ref,
      sessionId: 'other',
      message: 'hi',
      waitMs: 0,
    })
    await clock.advance(1_000)
    expect(runtime.openRuns).toEqual([id, message.id])
    expect(hanging).toHaveLength(1)
    hanging[0]?.()
    await clock.advance(1_000)
    expect(hanging).toHaveLength(2)
    expect(await state(id)).toMatchObject({ kind: 'running' })
  })
})

describe('a run that fails', () => {
  it("is repeated after a backoff with the attempt's number if the failure allows it, and blocks its session", async () => {
    const { post, clock, runtime, state } = await scene()
    const [first, second] = [await post('1'), await post('2')]
    await clock.advance(0)
    runtime.fail(first.id, 'busy', { retryable: true })
    await clock.advance(999)
    expect(await state(first.id)).toMatchObject({ kind: 'queued' })
    expect(runtime.openRuns).toEqual([])
    await clock.until(() => runtime.openRuns.length === 1)
    expect(runtime.requests.at(-1)).toMatchObject({ messageId: first.id, attempt: 2 })
    runtime.answer(first.id, 'ok')
    await clock.until(() => runtime.openRuns[0] === second.id)
  })
  it('fails the message after maxAttempts, and reports the failure to webhooks and callers', async () => {
    const handler = () => failedRun('RUNTIME_ERROR', 'boom', true)
    const { send, clock, hook, deliveries, state } = await scene({
      handler,
      agent: { maxAttempts: 2 },
    })
    await hook()
    const sending = send('hi', { metadata: { correlationId: 'c1' } })
    await clock.advance(5_000)
    const { message } = await sending
    expect(message.state).toMatchObject({
      kind: 'failed',
      error: { code: 'RUNTIME_ERROR', message: 'boom' },
    })
    expect(await state(message.id)).toEqual(message.state)
    const { body } =
      (await deliveries()).find(({ delivery }) => delivery.event === 'agent.error') ?? {}
    expect(JSON.parse(body ?? '')).toMatchObject({
      event: 'agent.error',
      data: { messageId: message.id, sessionId: 's', correlationId: 'c1' },
    })
  })
  it("fails with its own error if the agent's maxAttempts was lowered before the next attempt", async () => {
    const { post, runtime, clock, state, service, ref } = await scene()
    const { id } = await post()
    await clock.until(() => runtime.openRuns.length === 1)
    runtime.fail(id, 'busy', { retryable: true })
    await service.agents.update({ ...ref, change: { maxAttempts: 1 } })
    await clock.advance(2_000)
    const error = {
      code: 'RUNTIME_ERROR',
      message: 'the last attempt failed, and the agent allows no other',
    }
    expect(await state(id)).toMatchObject({ kind: 'failed', error })
  })
  it('answers a repeated send at once', async () => {
    const { send } = await scene({ handler: () => failedRun('RUNTIME_ERROR', 'boom') })
    await send('hi', { idempotencyKey: 'k' })
    expect(await send('hi', { idempotencyKey: 'k' })).toMatchObject({
      attached: true,
      message: { state: { kind: 'failed' } },
    })
  })
  it.each([
    ['not a string', 7],
    ['longer than the limit', 'x'.repeat(11)],
    ['not storable', 'a\0'],
  ])('when its answer is %s', async (_, answer) => {
    const { defaultLimits } = await import('@org/agent-messaging-core/runtime')
    const { send } = await scene({
      ...responses(answer),
      policy: { limits: { ...defaultLimits, responseLength: 10 } },
    })
    expect((await send()).message.state).toMatchObject({
      kind: 'failed',
      error: { code: 'RESPONSE_INVALID' },
    })
  })
  it.each([
    [new Error('rude'), 'Error: rude'],
    [Object.create(null), 'the thrown value has no text'],
  ])('when the runtime breaks its promise never to reject', async (thrown: Error, message) => {
    const rude: AgentRuntime['start'] = async () => {
      const { success } = await import('@org/agent-messaging-core/runtime')
      return success({
        run: () => Promise.reject(thrown),
        health: async () => ({ ok: true }),
        stop: async () => undefined,
      })
    }
    const { post, service, ref, runtime, clock, state } = await scene({ agent: { maxAttempts: 1 } })
    await service.agents.stop(ref)
    Object.assign(runtime, { start: rude })
    await service.agents.start(ref)
    const { id } = await post()
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'failed', error: { message } })
  })
})

describe('a run that takes too long', () => {
  const policy = {
    dispatch: { backoffMs: [0], jitter: 0, runTimeoutMs: 60_000, deferredTimeoutMs: 3_600_000 },
  }

  it('is aborted at its deadline and repeated', async () => {
    const { post, clock, runtime } = await scene({ policy })
    const { id } = await post()
    await clock.advance(61_000)
    await clock.until(() => runtime.requests.length === 2)
    expect(runtime.requests[1]).toMatchObject({ messageId: id, attempt: 2 })
  })
  it('is answered if the agent answers in spite of the abort', async () => {
    const handler = (_: unknown, signal: AbortSignal) =>
      new Promise<RunOutcome>((resolve) =>
        signal.addEventListener('abort', () =>
          resolve({ kind: 'answered', response: 'just in time' }),
        ),
      )
    const { post, clock, state } = await scene({ policy, handler })
    const { id } = await post()
    await clock.advance(61_000)
    expect(await state(id)).toMatchObject({ kind: 'responded', response: 'just in time' })
  })
  it('is abandoned if it ignores the abort, and its late answer changes nothing', async () => {
    let answer = (_: RunOutcome): void => undefined
    const handler = () => new Promise<RunOutcome>((resolve) => (answer = resolve))
    const { post, clock, state } = await scene({ policy, handler, agent: { maxAttempts: 1 } })
    const { id } = await post()
    await clock.advance(66_000)
    const failed = { kind: 'failed', error: { code: 'RUNTIME_TIMEOUT' } }
    expect(await state(id)).toMatchObject(failed)
    answer({ kind: 'answered', response: 'too late' })
    await clock.advance(1_000)
    expect(await state(id)).toMatchObject(failed)
  })
})

describe('the lease of a run', () => {
  it('is extended as long as the run takes', async () => {
    const { post, clock, runtime, another, state } = await scene()
    const other = another()
    await other.start()
    const { id } = await post()
    await clock.advance(300_000)
    runtime.answer(id, 'after five minutes')
    await clock.advance(0)
    expect(runtime.requests).toHaveLength(1)
    expect(await state(id)).toMatchObject({ kind: 'responded' })
  })
  it('is extended after the clock was set back', async () => {
    const { post, clock, runtime } = await scene({ policy: { runLeaseMs: 3_000 } })
    await post('before')
    await clock.advance(1_500)
    clock.set(clock.now() - 3_600_000)
    await post('after', { sessionId: 'another' })
    await clock.advance(30_000)
    expect(runtime.requests).toHaveLength(2)
  })
  it.each([
    ['ahead', 3_600_000],
    ['back', -3_600_000],
  ])(
    'is kept when the clock jumps an hour %s, and the run is neither ended nor repeated',
    async (_way, byMs) => {
      const { post, clock, runtime, another, state, telemetry } = await scene()
      const other = another()
      await other.start()
      const { id } = await post()
      await clock.advance(1_000)
      clock.set(clock.now() + byMs)
      await clock.advance(120_000)
      expect(runtime.requests).toHaveLength(1)
      runtime.answer(id, 'after the jump')
      await clock.advance(0)
      expect(await state(id)).toMatchObject({ kind: 'responded' })
      expect(telemetry.named('clock.jumped')[0]).toMatchObject({ byMs })
    },
  )
  it('ends in time when its process dies after the clock went back', async () => {
    const dead = await scene()
    await dead.post()
    const other = dead.another()
    await other.start()
    await dead.clock.advance(1_000)
    dead.clock.set(dead.clock.now() - 3_600_000)
    await dead.clock.advance(1_000)
    dead.storage.fail('messages.extendLeases', { times: Infinity })
    dead.storage.fail('messages.claimRunnable', { times: Infinity })
    await dead.clock.advance(31_000)
    expect(dead.runtime.requests[1]).toMatchObject({ attempt: 2 })
  })
  it('ends after its process dies, and another process runs the message with the attempt counted', async () => {
    const dead = await scene()
    const { id } = await dead.post()
    // The process is gone, and beats no more.
    dead.storage.fail('messages.extendLeases', { times: Infinity })
    dead.storage.fail('messages.claimRunnable', { times: Infinity })
    const other = dead.another()
    await other.start()
    await dead.clock.advance(29_000)
    expect(dead.runtime.requests).toHaveLength(1)
    await dead.clock.advance(2_000)
    expect(dead.runtime.requests[1]).toMatchObject({ messageId: id, attempt: 2 })
  })
  it('that is lost ends the run, and its result is refused', async () => {
    const { post, clock, runtime, storage, another, telemetry, state } = await scene()
    const { id } = await post()
    // The process stops for longer than its lease, and then continues.
    storage.fail('messages.extendLeases', { times: 3 })
    storage.fail('messages.claimRunnable', { times: 100 })
    const other = another()
    await other.start()
    await clock.advance(45_000)
    expect(runtime.requests).toHaveLength(2)
    expect(telemetry.named('run.refused')).toHaveLength(1)
    runtime.answer(id, 'from the second run')
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'responded', response: 'from the second run' })
  })
  it('that the same process claims again ends the earlier run, and leaves the new one alone', async () => {
    const { post, clock, runtime, storage, state } = await scene()
    const { id } = await post()
    storage.fail('messages.extendLeases', { times: 3 })
    await clock.until(() => runtime.requests.length === 2)
    await clock.advance(60_000) // beats of the new lease
    runtime.answer(id, 'from the second run')
    await clock.advance(0)
    expect(runtime.requests).toHaveLength(2)
    expect(await state(id)).toMatchObject({ kind: 'responded', response: 'from the second run' })
  })
  it('that ends after the last attempt fails the message without another run', async () => {
    const dead = await scene({ agent: { maxAttempts: 1 } })
    const { id } = await dead.post()
    dead.storage.fail('messages.extendLeases', { times: Infinity })
    dead.storage.fail('messages.claimRunnable', { times: Infinity })
    await dead.another().start()
    await dead.clock.advance(31_000)
    expect(dead.runtime.requests).toHaveLength(1)
    expect(await dead.state(id)).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_LOST' } })
    const ends = dead.telemetry.named('run.finished')
    expect(ends).toMatchObject([{ state: 'failed', isRun: false, agentName: 'bot' }])
  })
  it('holds a result until the storage is available again', async () => {
    const { post, clock, runtime, storage, state } = await scene()
    const { id } = await post()
    storage.fail('messages.recordRun', { times: 6 })
    runtime.answer(id, 'kept')
    await clock.advance(10_000)
    expect(await state(id)).toMatchObject({ kind: 'responded', response: 'kept' })
  })
  it('allows a write whose answer was lost to be repeated', async () => {
    const { post, clock, runtime, storage, state, hook, deliveries } = await scene()
    await hook()
    const { id } = await post()
    storage.fail('messages.recordRun', { takesEffect: true })
    runtime.answer(id, 'once')
    await clock.advance(60_000)
    expect(await state(id)).toMatchObject({ kind: 'responded', response: 'once' })
    expect(await deliveries()).toMatchObject([{ delivery: { state: { kind: 'delivered' } } }])
  })
})

describe('a deferred run', () => {
  const policy = {
    dispatch: { backoffMs: [0], jitter: 0, runTimeoutMs: 60_000, deferredTimeoutMs: 600_000 },
  }

  it('holds its session until the callback with its run token answers it', async () => {
    const { post, clock, runtime, service, state } = await scene({ policy })
    const [first, second] = [await post('1'), await post('2')]
    runtime.defer(first.id)
    await clock.advance(120_000)
    expect(await state(first.id)).toMatchObject({ kind: 'deferred' })
    expect(runtime.openRuns).toEqual([])
    const { runToken } = runOf(runtime)
    const run = { kind: 'answered', response: 'later' } as const
    const answered = await service.host.answerRun({ messageId: first.id, runToken, run })
    expect(answered.state).toMatchObject({ kind: 'responded', responseTimeMs: 120_000 })
    await clock.advance(0)
    expect(runtime.openRuns).toEqual([second.id])
    await service.host.answerRun({ messageId: first.id, runToken, run }) // a repeat is fine
    const other = { ...run, response: 'another' }
    expect(
      (await refusalOf(service.host.answerRun({ messageId: first.id, runToken, run: other }))).kind,
    ).toBe('run_superseded')
  })
  it('resolves the wait of its caller', async () => {
    const { send, clock, runtime, service } = await scene({ policy })
    const sending = send()
    await clock.advance(10)
    const { messageId, runToken } = runOf(runtime)
    runtime.defer(messageId)
    await clock.advance(1_000)
    await service.host.answerRun({
      messageId,
      runToken,
      run: { kind: 'answered', response: 'later' },
    })
    expect((await sending).message.state).toMatchObject({ response: 'later' })
  })
  it('can be answered before the runtime says that the run is deferred', async () => {
    const { post, clock, runtime, service, state } = await scene({ policy })
    const { id } = await post()
    const { runToken } = runOf(runtime)
    await service.host.answerRun({
      messageId: id,
      runToken,
      run: { kind: 'answered', response: 'fast' },
    })
    runtime.defer(id)
    await clock.advance(1_000)
    expect(await state(id)).toMatchObject({ kind: 'responded', response: 'fast' })
  })
  it('survives a restart', async () => {
    const { post, clock, runtime, service, another, state } = await scene({ policy })
    const { id } = await post()
    const { runToken } = runOf(runtime)
    runtime.defer(id)
    await clock.advance(0)
    await service.stop({ graceMs: 0 })
    const next = another()
    await next.start()
    await clock.advance(60_000)
    await next.host.answerRun({
      messageId: id,
      runToken,
      run: { kind: 'answered', response: 'ok' },
    })
    expect(await state(id)).toMatchObject({ kind: 'responded' })
  })
  it.each([
    ['a fraction of a millisecond', 1_000.5, 1_000],
    ['no number', Number.NaN, 3_600_000],
    ['the past', -1, 3_600_000],
    ['more than the policy', 1e12, 3_600_000],
  ])(
    'has a deadline that every store takes, when the runtime asks for %s',
    async (_, asked, given) => {
      const { post, runtime, clock, state } = await scene()
      const { id } = await post()
      runtime.defer(id, asked)
      await clock.advance(0)
      expect(await state(id)).toMatchObject({ kind: 'deferred', deadlineAt: clock.now() + given })
    },
  )
  it('runs again when its callback does not come, and refuses the old token', async () => {
    const { post, clock, runtime, service, state, ref, telemetry } = await scene({
      policy,
      agent: { maxAttempts: 2 },
    })
    const { id } = await post()
    const { runToken } = runOf(runtime)
    runtime.defer(id, 5_000) // the runtime's own, shorter deadline
    await clock.until(() => runtime.requests.length === 2)
    const run = { kind: 'answered', response: 'too late' } as const
    expect((await refusalOf(service.host.answerRun({ messageId: id, runToken, run }))).kind).toBe(
      'run_superseded',
    )
    runtime.defer(id)
    await clock.advance(600_500)
    expect(await state(id)).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_TIMEOUT' } })
    const found = await service.messages.get({ ...ref, messageId: id })
    expect(found.attempt).toBe(2)
    expect(telemetry.named('run.finished')).toMatchObject([{ attempt: 2 }])
  })
  it('refuses a callback after it was superseded, for an answer and for a failure', async () => {
    const { post, clock, runtime, service, state } = await scene({
      policy: { dispatch: { ...policy.dispatch, backoffMs: [0, 60_000] } },
    })
    const { id } = await post()
    runtime.defer(id, 5_000)
    await clock.until(() => runtime.requests.length === 2)
    const { runToken } = runOf(runtime)
    const answer = async (run: FinishedRun) =>
      (await refusalOf(service.host.answerRun({ messageId: id, runToken, run }))).kind
    expect(await answer({ kind: 'answered', response: '\0' })).toBe('run_superseded')
    runtime.fail(id, 'busy', { retryable: true })
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'queued' })
    expect(await answer(failedRun('RUNTIME_ERROR', 'busy', true))).toBe('run_superseded')
  })
  it('refuses a callback whose agent was deleted', async () => {
    const { post, runtime, service, clock, storage } = await scene({ policy })
    const { id } = await post()
    const { runToken } = runOf(runtime)
    runtime.defer(id)
    await clock.advance(0)
    const { get } = storage.agents
    Object.assign(storage.agents, {
      get: (...args: Parameters<typeof get>) => mapped(get(...args), () => undefined),
    })
    const run = failedRun('RUNTIME_ERROR', 'no', true)
    expect((await refusalOf(service.host.answerRun({ messageId: id, runToken, run }))).kind).toBe(
      'message_not_found',
    )
  })
  it('can fail by callback', async () => {
    const { post, runtime, service, clock } = await scene({ policy })
    const { id } = await post()
    const { runToken } = runOf(runtime)
    runtime.defer(id)
    await clock.advance(0)
    const failed = await service.host.answerRun({
      messageId: id,
      runToken,
      run: failedRun('RUNTIME_ERROR', 'no'),
    })
    expect(failed.state).toMatchObject({ kind: 'failed', error: { message: 'no' } })
  })
})

describe('a callback is refused', () => {
  const run = { kind: 'answered', response: 'x' } as const

  it('with a token that is forged, of another message or nonsense', async () => {
    const { post, runtime, service } = await scene()
    const [first] = [await post('1'), await post('2', { sessionId: 't' })]
    const [, other] = runtime.requests
    for (const runToken of [
      other?.runToken ?? '',
      'amr_1_forged',
      'amr_99999999999999999999_x',
      '',
      'nonsense',
    ]) {
      const error = await refusalOf(service.host.answerRun({ messageId: first.id, runToken, run }))
      expect(error.kind).toBe('run_token_invalid')
    }
  })
  it('for a message that was deleted', async () => {
    const { post, runtime, service, ref } = await scene()
    const { id } = await post()
    const { runToken } = runOf(runtime)
    await service.agents.delete({ ...ref, force: true })
    expect((await refusalOf(service.host.answerRun({ messageId: id, runToken, run }))).kind).toBe(
      'message_not_found',
    )
  })
  it('when the run was superseded between the check and the commit, or its message erased', async () => {
    const { post, runtime, service, storage, ref } = await scene()
    const { id } = await post()
    const { runToken } = runOf(runtime)
    const { recordRun } = storage.messages
    let meanwhile = async (): Promise<unknown> => service.messages.cancel({ ...ref, messageId: id })
    storage.messages.recordRun = (record) => meanwhile().then(() => recordRun(record))
    const problem = async (of: string, token: string) =>
      (await refusalOf(service.host.answerRun({ messageId: of, runToken: token, run }))).kind
    expect(await problem(id, runToken)).toBe('run_superseded')
    const other = await post('other', { sessionId: 'other' })
    meanwhile = async () => service.sessions.erase({ ...ref, sessionId: 'other', force: true })
    expect(await problem(other.id, runtime.requests[1]?.runToken ?? '')).toBe('run_superseded')
  })
})

it("a repeated callback succeeds if the store's answer to the first one was lost", async () => {
  const { post, runtime, service, storage, clock, state } = await scene()
  const { id } = await post()
  const { runToken } = runOf(runtime)
  storage.fail('messages.recordRun', { takesEffect: true })
  const answering = service.host.answerRun({
    messageId: id,
    runToken,
    run: { kind: 'answered', response: 'x' },
  })
  await clock.advance(100)
  expect((await answering).state).toMatchObject({
    kind: 'responded',
    response: 'x',
  })
  expect(await state(id)).toMatchObject({ kind: 'responded' })
})
