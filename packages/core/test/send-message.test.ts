import { createService } from '@org/agent-messaging-core'
import { errorIn } from '@org/agent-messaging-core/host'
import { refusalOf, mapped } from '@org/agent-messaging-testing'
import { describe, expect, it, vi } from 'vitest'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) =>
    ({ kind: 'answered', response: `re: ${message}` }) as const,
}

describe('sending a message', () => {
  it('returns the answer as soon as the agent gives it', async () => {
    const { send } = await scene(echo)
    const { message, attached } = await send('hi')
    expect(attached).toBe(false)
    expect(message.state).toMatchObject({ kind: 'responded', response: 're: hi' })
  })

  it('returns the pending message after 30 seconds, and the answer later', async () => {
    const { send, clock, runtime, state } = await scene()
    const sending = send()
    await clock.advance(29_999)
    expect(runtime.openRuns).toHaveLength(1)
    await clock.advance(1)
    const { message } = await sending
    expect(message.state.kind).toBe('running')
    runtime.answer(message.id, 'late')
    await clock.advance(0)
    expect(await state(message.id)).toMatchObject({
      kind: 'responded',
      response: 'late',
      responseTimeMs: 30_000,
    })
  })

  it('waits shorter when asked to, and never longer than the policy', async () => {
    const { send, clock } = await scene({ policy: { syncWaitMs: 5_000 } })
    const short = send('a', { waitMs: 1_000 })
    const long = send('b', { waitMs: 60_000 })
    await clock.advance(1_000)
    expect((await short).message.state.kind).not.toBe('responded')
    await clock.advance(4_000)
    expect((await long).message.state.kind).not.toBe('responded')
  })

  it('limits the wait of a read in the same way', async () => {
    const { post, service, ref, clock } = await scene({ policy: { syncWaitMs: 5_000 } })
    const { id: messageId } = await post()
    const asking = service.messages.get({ ...ref, messageId, waitMs: 60_000 })
    await clock.advance(5_000)
    expect((await asking).state.kind).toBe('running')
  })

  it('does not wait longer when the clock is set back during the wait', async () => {
    const { send, clock } = await scene({ policy: { syncWaitMs: 5_000 } })
    const left: string[] = []
    const sendAndTell = (message: string) => void send(message).then(() => left.push(message))
    sendAndTell('before')
    await clock.advance(1_200)
    clock.set(clock.now() - 3_600_000)
    sendAndTell('after')
    await clock.advance(4_500)
    expect(left).toEqual(['before'])
    await clock.advance(500)
    expect(left).toEqual(['before', 'after'])
  })

  it('continues when the caller leaves', async () => {
    const { send, clock, runtime, state } = await scene()
    const caller = new AbortController()
    const sending = send('hi', { abort: caller.signal })
    await clock.advance(100)
    caller.abort()
    await clock.advance(500) // the next look
    const { message } = await sending
    runtime.answer(message.id, 'done')
    await clock.advance(0)
    expect(await state(message.id)).toMatchObject({ kind: 'responded' })
  })

  it('stores the resolved principal and the metadata', async () => {
    const { send, runtime } = await scene({
      ...echo,
      agent: { defaultExecutionPrincipal: { type: 'end_user' } },
    })
    const executionPrincipal = { type: 'end_user', endUserId: 'u1' } as const
    const { message } = await send('hi', { executionPrincipal, metadata: { source: 'x' } })
    expect(message).toMatchObject({ executionPrincipal, metadata: { source: 'x' } })
    expect(runtime.requests[0]).toMatchObject({
      executionPrincipal,
      metadata: { source: 'x' },
      attempt: 1,
    })
  })
})

describe('an idempotency key', () => {
  it('attaches every later and concurrent send to the first message, and to its answer', async () => {
    const { send, clock, runtime } = await scene()
    const sends = Array.from({ length: 100 }, () => send('hi', { idempotencyKey: 'k' }))
    await clock.advance(600)
    runtime.answer(runtime.openRuns[0] ?? '', 'once')
    const sent = (await Promise.all(sends)).map((result) => result)
    expect(new Set(sent.map(({ message }) => message.id)).size).toBe(1)
    expect(sent.filter(({ attached }) => !attached)).toHaveLength(1)
    expect(sent.every(({ message }) => message.state.kind === 'responded')).toBe(true)
    expect(runtime.requests).toHaveLength(1)
  })

  it('returns the first message, even if the agent has stopped or the body differs', async () => {
    const { send, service, ref } = await scene(echo)
    const first = await send('hi', { idempotencyKey: 'k' })
    await service.agents.stop(ref)
    const again = await send('something else', { idempotencyKey: 'k' })
    expect(again).toEqual({ message: first.message, attached: true })
  })

  it('can refuse another request with the same key, ignoring the order of keys and white space', async () => {
    const { send } = await scene({ ...echo, policy: { onKeyMismatch: 'reject' } })
    const key = { idempotencyKey: 'k' }
    await send('hi', { ...key, metadata: { a: 1, b: 2 } })
    await send('hi', { ...key, metadata: { b: 2, a: 1 } })
    const same = { ...key, metadata: { a: 1, b: 2 } }
    for (const [message, other] of [
      ['ho', same],
      ['hi', key],
      ['hi', { ...same, sessionId: 'another' }],
      ['hi', { ...same, executionPrincipal: { type: 'service' } }],
    ] as const)
      expect((await refusalOf(send(message, other))).kind).toBe('idempotency_mismatch')
  })

  it.each(['reuse', 'reject'] as const)(
    'is refused in another session, and returns, changes and reports nothing (%s)',
    async (onKeyMismatch) => {
      const { send, service, ref, storage, telemetry } = await scene({
        ...echo,
        policy: { onKeyMismatch },
      })
      const hook = { name: 'mine', url: 'https://mine.example/' }
      const first = await send('my pin is 4711', { idempotencyKey: 'k' })
      const before = telemetry.facts.length
      const other = { ...ref, sessionId: 't', message: 'my pin is 4711', idempotencyKey: 'k' }
      for (const sending of [
        service.messages.send(other),
        service.messages.send({ ...other, hook }),
        service.messages.enqueue({ ...other, transaction: { ...storage, onEnd: () => undefined } }),
      ])
        expect(await refusalOf(sending)).toEqual({ kind: 'idempotency_mismatch' })
      expect(telemetry.facts.slice(before)).toEqual([])
      const page = { limit: 9 }
      expect((await service.messages.list({ ...ref, ...page })).data).toEqual([first.message])
      const messageId = first.message.id
      expect(await service.hooks.list({ ...ref, messageId })).toEqual([])
      expect((await send('my pin is 4711', { idempotencyKey: 'k' })).attached).toBe(true)
    },
  )

  it('is free for another session once its session was erased', async () => {
    const { send, service, ref } = await scene(echo)
    await send('hi', { idempotencyKey: 'k' })
    await service.sessions.erase({ ...ref, sessionId: 's' })
    const other = { idempotencyKey: 'k', sessionId: 't' }
    expect((await send('hi', other)).attached).toBe(false)
    expect((await refusalOf(send('hi', { idempotencyKey: 'k' }))).kind).toBe('idempotency_mismatch')
  })

  it('can be used again after a refused request', async () => {
    const { send, service, ref } = await scene(echo)
    await service.agents.stop(ref)
    await refusalOf(send('hi', { idempotencyKey: 'k' }))
    await service.agents.start(ref)
    expect((await send('hi', { idempotencyKey: 'k' })).attached).toBe(false)
  })
})

describe('a send is refused, and nothing is stored,', () => {
  const refused = async (more: object, options: Parameters<typeof scene>[0] = {}) => {
    const { send, service, ref } = await scene({ ...echo, ...options })
    const error = await refusalOf(send('hi', more))
    const page = { limit: 10 }
    expect((await service.messages.list({ ...ref, ...page })).data).toEqual([])
    return error
  }

  it('for an unknown agent or another project', async () => {
    expect((await refused({ agent: 'nobody' })).kind).toBe('agent_not_found')
    expect((await refused({ projectId: '00000000-0000-7000-8000-000000000000' })).kind).toBe(
      'agent_not_found',
    )
  })
  it('for a principal that is missing or invalid', async () => {
    const needsEndUser = { agent: { defaultExecutionPrincipal: { type: 'end_user' } } } as const
    expect((await refused({}, needsEndUser)).kind).toBe('end_user_id_required')
    expect((await refused({ executionPrincipal: { type: 'root' } })).kind).toBe('principal_invalid')
  })
  it.each([
    ['sessionId', { sessionId: '' }],
    ['sessionId', { sessionId: 'x'.repeat(257) }],
    ['message', { message: 7 }],
    ['message', { message: 'x'.repeat(64 * 1024 + 1) }],
    ['message', { message: 'a\0b' }],
    ['metadata', { metadata: [] }],
    ['metadata', { metadata: { a: 'x'.repeat(16 * 1024) } }],
    ['metadata', { metadata: { a: 1e999 } }],
    ['Idempotency-Key', { idempotencyKey: '' }],
    ['Idempotency-Key', { idempotencyKey: 'x'.repeat(256) }],
    ['Idempotency-Key', { idempotencyKey: 'ü' }],
  ])('for a bad %s', async (path, more) => {
    const error = await refused(more)
    expect(error.kind === 'invalid' && error.issues.map((issue) => issue.path)).toEqual([path])
  })
  it.each(['sessionId', 'message'])('and says that %s is required', async (path) => {
    expect(await refused({ [path]: undefined })).toEqual({
      kind: 'invalid',
      issues: [{ path, message: 'is required' }],
    })
  })
  it('and accepts exactly each limit', async () => {
    const { send } = await scene(echo)
    const metadata = { a: 'x'.repeat(16 * 1024 - '{"a":""}'.length) }
    const sending = send('x'.repeat(64 * 1024), {
      sessionId: 'x'.repeat(256),
      idempotencyKey: '~'.repeat(255),
      metadata,
    })
    await expect(sending).resolves.toMatchObject({ attached: false })
  })
  it("when the agent does not run, with the agent's state", async () => {
    const { send, service, ref, runtime } = await scene(echo)
    await service.agents.stop(ref)
    expect(await refusalOf(send())).toEqual({
      kind: 'agent_not_running',
      state: 'stopped',
    })
    runtime.failStart()
    await service.agents.start(ref)
    expect(await refusalOf(send())).toEqual({
      kind: 'agent_not_running',
      state: 'error',
      retryInMs: 1_000,
    })
  })
  it('when the agent is deleted between the read and the commit', async () => {
    const { send, storage, ref, bot } = await scene(echo)
    const get = storage.agents.get
    Object.assign(storage.agents, {
      get: (...args: Parameters<typeof get>) =>
        mapped(get(...args), (agent) =>
          storage.agents.delete(ref.projectId, bot.id).then(() => agent),
        ),
    })
    expect((await refusalOf(send())).kind).toBe('agent_not_found')
  })
  it('when the session is full', async () => {
    const { send, post, service, ref } = await scene({ agent: { maxQueued: 1 } })
    await post('runs')
    await post('waits')
    expect((await refusalOf(send('too many'))).kind).toBe('session_full')
    await send('another session', { sessionId: 't', waitMs: 0 })
    expect((await service.messages.list({ ...ref, limit: 10 })).data).toHaveLength(3)
  })
  it('while the storage is unavailable, and its slot is free again', async () => {
    const { send, storage } = await scene({ ...echo, agent: { concurrency: 1 } })
    storage.fail('messages.accept')
    expect((await refusalOf(send())).kind).toBe('unavailable')
    expect((await send()).message.state.kind).toBe('responded')
  })
})

describe('a send that the storage does not confirm', () => {
  const UNCONFIRMED = { kind: 'unavailable', reason: 'unconfirmed' }

  async function silentScene() {
    const s = await scene({ ...echo, agent: { concurrency: 1 } })
    await s.send('warm')
    let answer = (): void => undefined
    const slowUntil = new Promise<void>((resolve) => (answer = resolve))
    s.storage.fail('messages.accept', { slowUntil })
    const sending = s.send('hello', { idempotencyKey: 'key' })
    let refused: unknown
    sending.catch((thrown: unknown) => (refused = errorIn(thrown)))
    return { ...s, answer, refusal: () => refused }
  }

  it('is unavailable after five seconds, and not before', async () => {
    const { clock, refusal } = await silentScene()
    await clock.advance(4_999)
    expect(refusal()).toBeUndefined()
    await clock.advance(1)
    expect(refusal()).toEqual(UNCONFIRMED)
  })
  it('runs if the storage confirms it later, and a repeated send gets its answer', async () => {
    const { clock, refusal, answer, send, runtime } = await silentScene()
    await clock.advance(5_000)
    expect(refusal()).toEqual(UNCONFIRMED)
    answer()
    await clock.advance(0)
    expect(runtime.requests.map(({ message }) => message)).toEqual(['warm', 'hello'])
    const again = await send('hello', { idempotencyKey: 'key' })
    expect(again).toMatchObject({ attached: true, message: { state: { kind: 'responded' } } })
    expect((await send('next')).message.state.kind).toBe('responded')
  })
  it('leaves no timer after a stop', async () => {
    const { clock, service, answer } = await silentScene()
    await clock.advance(1_000)
    answer()
    await service.stop()
    expect(clock.sleepers).toBe(0)
  })
})

describe('the waiting room', () => {
  it('finds an answer of another process at the next poll', async () => {
    const { send, another, clock, runtime, state } = await scene({ idle: true })
    const other = another()
    await other.start()
    await clock.advance(1_000)
    const sending = send() // this process runs nothing itself
    await clock.until(() => runtime.openRuns.length === 1)
    const [id = ''] = runtime.openRuns
    runtime.answer(id, 'from elsewhere')
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'responded' })
    await clock.advance(500)
    expect((await sending).message.state).toMatchObject({
      response: 'from elsewhere',
    })
  })
  it('reads a message when another process signals only its id', async () => {
    const fakes = await scene()
    let ring = (): void => undefined
    const signal = {
      notify: () => undefined,
      listen: (_: string, hear: (message: undefined) => void) => (
        (ring = () => hear(undefined)),
        () => undefined
      ),
    }
    const near = createService({ ...fakes, storage: fakes.storage.reopen(), signal })
    const sending = near.messages.send({ ...fakes.ref, sessionId: 's', message: 'hi' })
    await fakes.clock.until(() => fakes.runtime.openRuns.length === 1)
    ring() // too early: nothing is final yet
    fakes.runtime.answer(fakes.runtime.openRuns[0] ?? '', 'ok')
    await fakes.clock.advance(0)
    ring()
    expect((await sending).message.state.kind).toBe('responded')
  })
  it('returns at once when it is full', async () => {
    const { send, clock } = await scene({ policy: { maxWaitingPerProject: 1 } })
    const waits = send('a')
    await clock.advance(1)
    expect((await send('b')).message.state.kind).toBe('queued')
    await clock.advance(30_000)
    await waits
  })
  it('polls again after the storage was unavailable', async () => {
    const { send, clock, runtime, storage, another } = await scene({ idle: true })
    const other = another()
    await other.start()
    await clock.advance(1_000)
    const sending = send()
    await clock.until(() => runtime.openRuns.length === 1)
    storage.fail('messages.findSettled', { times: 2 })
    runtime.answer(runtime.openRuns[0] ?? '', 'ok')
    await clock.advance(2_000)
    expect((await sending).message.state.kind).toBe('responded')
  })
})

describe('an agent that earlier sends read', () => {
  it('is not read again', async () => {
    const { send, storage } = await scene(echo)
    await send('first')
    storage.fail('agents.get', { times: Infinity })
    await expect(send('second')).resolves.toMatchObject({ attached: false })
  })

  it('stays known while a caller asks for it who does not reach it', async () => {
    const { send, storage } = await scene(echo)
    await send('first')
    const isRead = Promise.withResolvers<void>()
    const { get } = storage.agents
    vi.spyOn(storage.agents, 'get').mockImplementation(async (...ref) => {
      await isRead.promise
      return get(...ref)
    })
    const access = { caller: 'u1', permissions: [], sessions: 'all', agents: ['other'] } as const
    const refused = refusalOf(send('foreign', { access }))
    await send('second')
    isRead.resolve()
    expect(await refused).toEqual({ kind: 'agent_not_found' })
  })

  it('gives the next message its new default principal', async () => {
    const { send, service, ref } = await scene(echo)
    await send('first')
    const change = { defaultExecutionPrincipal: { type: 'end_user' } } as const
    await service.agents.update({ ...ref, change })
    expect(await refusalOf(send('second'))).toEqual({ kind: 'end_user_id_required' })
    await service.agents.update({
      ...ref,
      change: { defaultExecutionPrincipal: { type: 'service' } },
    })
    await send('third')
  })

  it('does not get messages for another agent that has its name now', async () => {
    const { send, service, ref, project } = await scene(echo)
    await send('first')
    await service.agents.update({ ...ref, change: { name: 'earlier' } })
    const runtime = { kind: 'fake' }
    const created = await service.agents.create({ projectId: project.id, name: 'bot', runtime })
    const { agent } = created
    expect((await send('second')).message.agentId).toBe(agent.id)
  })

  it('refuses messages after a stop and a deletion, with its state', async () => {
    const { send, service, ref } = await scene(echo)
    await send('first')
    await service.agents.stop(ref)
    expect(await refusalOf(send('second'))).toMatchObject({
      kind: 'agent_not_running',
      state: 'stopped',
    })
    await service.agents.delete(ref)
    expect(await refusalOf(send('third'))).toEqual({ kind: 'agent_not_found' })
  })
})
