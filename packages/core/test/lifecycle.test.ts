import { describe, expect, it } from 'vitest'
import { createService, defaultPolicy } from '@org/agent-messaging-core'
import { failure, success } from '@org/agent-messaging-core/runtime'
import { defaultDispatchPolicy, defaultWebhookHealthPolicy } from '@org/agent-messaging-core/host'
import { fakePlatform, refused, refusalOf, mapped } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}

describe('stopping the service', () => {
  it('resolves waiting callers, lets runs finish within the grace, and starts nothing new', async () => {
    const { send, service, clock, runtime, state } = await scene()
    const waiting = send('first')
    const behind = send('second')
    await clock.advance(100)
    const stopping = service.stop({ graceMs: 5_000 })
    const [first, second] = [(await waiting).message, (await behind).message]
    expect(first.state.kind).toBe('running')
    await clock.advance(1_000)
    runtime.answer(first.id, 'in time')
    await clock.advance(5_000)
    await stopping
    expect(await state(first.id)).toMatchObject({ kind: 'responded' })
    expect(await state(second.id)).toMatchObject({ kind: 'queued' })
    expect(runtime.requests).toHaveLength(1)
    const late = await send('third')
    expect(late.message.state.kind).toBe('queued') // accepted, durable, and left to the next start
    expect(clock.sleepers).toBe(0)
  })
  it('starts nothing in a pass that is called during the stop', async () => {
    const { post, service, clock, runtime, state } = await scene()
    const first = await post()
    const stopping = service.stop({ graceMs: 5_000 })
    const second = await post('meanwhile', { sessionId: 'other' })
    const passing = service.tick({ budgetMs: 1_000 })
    await clock.advance(1_000)
    expect(await passing).toMatchObject({ messages: 0 })
    expect(runtime.requests.map(({ messageId }) => messageId)).toEqual([first.id])
    expect(await state(second.id)).toMatchObject({ kind: 'queued' })
    runtime.answer(first.id, 'ok')
    await clock.advance(1_000)
    await stopping
  })
  it('releases the runs that do not finish, and the next start runs them', async () => {
    const { post, service, clock, runtime, another, state } = await scene()
    const { id } = await post()
    const stopping = service.stop({ graceMs: 1_000 })
    await clock.advance(1_500)
    await stopping
    expect(await state(id)).toMatchObject({ kind: 'queued' })
    await another().start()
    await clock.advance(2_000)
    expect(runtime.requests[1]).toMatchObject({ messageId: id, attempt: 2 })
  })
  it('never runs a message twice if its attempts are limited to one', async () => {
    const { post, service, clock, state } = await scene({ agent: { maxAttempts: 1 } })
    const { id } = await post()
    const stopping = service.stop({ graceMs: 0 })
    await clock.advance(500)
    await stopping
    expect(await state(id)).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_LOST' } })
  })
  it('extends the leases of runs during a long grace', async () => {
    const { post, service, clock, runtime, another } = await scene()
    const { id } = await post()
    const stopping = service.stop({ graceMs: 120_000 })
    await another().start()
    await clock.advance(100_000)
    expect(runtime.requests).toHaveLength(1)
    runtime.answer(id, 'ok')
    await clock.advance(500)
    await stopping
  })
  it('leaves no timer that keeps the process alive', async () => {
    const { send, hook, service, clock } = await scene(echo)
    await hook()
    await send()
    const stopping = service.stop({ graceMs: 60_000 })
    await clock.advance(0)
    await stopping
    await clock.advance(500) // the poll that was under way for the waiting callers
    expect(clock.sleepers).toBe(0)
  })
  it('ends while the storage is unavailable: tries once more, and leaves no timer', async () => {
    const { post, hook, send, service, storage, clock, runtime, sender } = await scene()
    await hook()
    const [answered, deferred, called] = [
      await post('1'),
      await post('2', { sessionId: 'b' }),
      await post('3', { sessionId: 'c' }),
    ]
    const runToken = runtime.requests[2]?.runToken ?? ''
    sender.hold()
    const sent = send('4', { sessionId: 'd' })
    await clock.advance(0)
    runtime.answer(runtime.openRuns[3] ?? '', 'with a delivery')
    await sent
    const never = { times: Infinity }
    for (const method of [
      'messages.recordRun',
      'messages.defer',
      'deliveries.recordAttempts',
    ] as const)
      storage.fail(method, never)
    runtime.answer(answered.id, 'nobody can record it')
    runtime.defer(deferred.id)
    sender.release()
    const answering = service.host.answerRun({
      messageId: called.id,
      runToken,
      run: { kind: 'answered', response: 'late' },
    })
    let stopped = false
    const stopping = service.stop({ graceMs: 1_000 }).then(() => (stopped = true))
    await clock.advance(10_000)
    expect(stopped).toBe(true)
    await stopping
    expect((await refusalOf(answering)).kind).toBe('unavailable')
    expect(clock.sleepers).toBe(0)
  })
  it('stops a runtime that is still starting', async () => {
    const { service, project, runtime, clock } = await scene()
    let alive = 0
    Object.assign(runtime, {
      start: async () => {
        await clock.sleep(3_000)
        alive++
        return success({
          run: async () => ({ kind: 'answered', response: '' }),
          health: async () => ({ ok: true }),
          stop: async () => void alive--,
        })
      },
    })
    const slow = {
      projectId: project.id,
      name: 'slow',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    } as const
    const creating = service.agents.create(slow)
    await clock.advance(500)
    const stopping = service.stop()
    await clock.advance(3_000)
    await Promise.all([creating, stopping])
    expect(runtime.starts).toHaveLength(1)
    expect(alive).toBe(0)
  })
  it('interrupts a running start without counting a failure, and the next process starts the agent', async () => {
    const { service, another, project, runtime, clock } = await scene()
    const { start } = runtime
    const endless: typeof start = (_agent, _onExit, signal) =>
      new Promise((resolve) => {
        signal?.addEventListener('abort', () =>
          resolve(failure({ code: 'RUNTIME_EXITED', message: 'the program was to stop' })),
        )
      })
    Object.assign(runtime, { start: endless })
    const slow = {
      projectId: project.id,
      name: 'slow',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    } as const
    const creating = service.agents.create(slow)
    await clock.advance(500)
    await service.stop()
    await creating
    const stateOf = async () =>
      (await service.agents.get({ projectId: project.id, agent: 'slow' })).state.kind
    expect(await stateOf()).toBe('starting')
    Object.assign(runtime, { start })
    await another().start()
    expect(await stateOf()).toBe('running')
  })
  it.each(['listActive', 'own'] as const)(
    'starts and owns nothing for a pass that has just asked for %s',
    async (method) => {
      const first = fakePlatform({ exclusive: true })
      const project = await createService(first).projects.create({ name: 'test' })
      const storage = first.storage.reopen()
      const service = createService({ ...first, storage })
      const bot = {
        projectId: project.id,
        name: 'bot',
        runtime: { kind: 'fake' },
        desiredState: 'running',
      } as const
      await service.agents.create(bot)
      const ask = storage.agents[method] as (
        ...args: unknown[]
      ) => ReturnType<typeof storage.agents.listActive>
      let [isAsked, answer] = [false, (): void => undefined]
      const late = new Promise<void>((resolve) => (answer = resolve))
      Object.assign(storage.agents, {
        [method]: (...args: unknown[]) => {
          isAsked = true
          return late.then(() => ask(...args))
        },
      })
      const passing = service.tick({ budgetMs: 0 })
      await first.clock.until(() => isAsked)
      const stopping = service.stop()
      await first.clock.advance(0)
      answer()
      await Promise.all([passing, stopping])
      expect(first.runtime.starts).toEqual([])
      await createService(first).tick({ budgetMs: 0 })
      expect(first.runtime.starts).toHaveLength(1)
    },
  )
  it('waits a limited time for a runtime that does not stop', async () => {
    const { service, runtime, project, clock } = await scene()
    const stuck = {
      run: async () => ({ kind: 'answered', response: '' }),
      health: async () => ({ ok: true }),
      stop: () => new Promise(() => {}),
    }
    Object.assign(runtime, { start: async () => success(stuck) })
    await service.agents.create({
      projectId: project.id,
      name: 'stuck',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    let stopped = false
    const stopping = service.stop().then(() => (stopped = true))
    await clock.advance(10_000)
    expect(stopped).toBe(true)
    await stopping
  })
  it('is final: neither a pass nor a start runs anything after it', async () => {
    const { service, post, runtime, state, clock } = await scene()
    await Promise.all([service.stop(), service.stop()])
    await service.tick({ budgetMs: 1_000 })
    await service.start()
    const { id } = await post()
    await clock.advance(1_000)
    expect(runtime.starts).toHaveLength(1)
    expect(await state(id)).toMatchObject({ kind: 'queued' })
    expect(clock.sleepers).toBe(0)
  })
  it('waits for attempts in flight, at most for the grace', async () => {
    const { send, hook, service, sender, clock } = await scene(echo)
    await hook()
    sender.hold()
    await send()
    const stopping = service.stop({ graceMs: 3_000 })
    await clock.advance(3_500)
    await stopping
    expect(sender.held).toBe(1)
  })
  it('waits for attempts in flight in each of two stops', async () => {
    const { send, hook, service, sender, clock } = await scene(echo)
    await hook()
    sender.hold()
    await send()
    let ended = 0
    const stops = [1, 2].map(() => service.stop({ graceMs: 60_000 }).then(() => ended++))
    await clock.advance(1_000)
    expect(ended).toBe(0)
    sender.release()
    await clock.advance(0)
    await Promise.all(stops)
  })
  it('releases the deliveries that wait for a slot, and another process sends them during the stop', async () => {
    const { send, hook, service, another, sender, clock } = await scene(echo)
    await hook()
    sender.hold()
    for (let n = 0; n < 12; n++) await send('hi', { sessionId: `s${n}` })
    await clock.until(() => sender.held === 8)
    const stopping = service.stop({ graceMs: 5_000 })
    await another().start()
    await clock.advance(1_000)
    expect(sender.held).toBe(12)
    sender.release()
    await clock.advance(0)
    await stopping
    const ids = sender.requests.map(({ headers }) => headers['X-Service-Delivery'])
    expect(new Set(ids).size).toBe(12)
  })
  it('releases the deliveries that a running pass claims, and the pass ends', async () => {
    const { hook, project, service, another, storage, sender, clock } = await scene({ idle: true })
    await service.webhooks.sendTestEvent({
      projectId: project.id,
      webhookId: (await hook()).webhook.id,
    })
    const { claimDue } = storage.deliveries
    let [isAsked, answer] = [false, (): void => undefined]
    const late = new Promise<void>((resolve) => (answer = resolve))
    storage.deliveries.claimDue = (query) => {
      isAsked = true
      return mapped(claimDue(query), (claimed) => late.then(() => claimed))
    }
    const passing = service.tick({ budgetMs: 60_000 })
    await clock.until(() => isAsked)
    await service.stop({ graceMs: 0 })
    answer()
    await passing
    expect(await another().tick({ budgetMs: 1_000 })).toMatchObject({ deliveries: 1 })
    expect(sender.requests).toHaveLength(1)
  })
})

const NOTHING = { messages: 0, deliveries: 0, cancelled: 0, purgedDeliveries: 0, purgedMessages: 0 }

describe('one bounded pass, for a host without timers', () => {
  it('runs queued messages and delivers their answers, and counts both', async () => {
    const { service, post, hook, sender, state } = await scene({ ...echo, idle: true })
    await hook()
    const ids = [await post('1'), await post('2')].map(({ id }) => id)
    expect(await state(ids[0] ?? '')).toMatchObject({ kind: 'queued' })
    const pass = await service.tick({ budgetMs: 10_000 })
    expect(pass).toEqual({ ...NOTHING, messages: 2, deliveries: 2 })
    expect(sender.requests).toHaveLength(2)
    expect(await service.tick({ budgetMs: 10_000 })).toEqual(NOTHING)
  })
  it('attempts each due delivery once, with concurrent passes in several processes', async () => {
    const policy = { webhookHealth: { ...defaultWebhookHealthPolicy, openFailures: 100 } }
    const { service, another, send, hook, sender, clock } = await scene({ ...echo, policy })
    await hook()
    sender.script(...Array.from({ length: 9 }, () => refused(500)))
    for (let n = 0; n < 9; n++) await send(String(n))
    await service.stop({ graceMs: 0 })
    await clock.advance(6_000)
    const other = another()
    const passing = Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? other : service).tick({ budgetMs: 5_000 })),
    )
    await clock.advance(5_000)
    const passes = await passing
    expect(sender.requests).toHaveLength(18)
    expect(passes.reduce((sum, { deliveries }) => sum + deliveries, 0)).toBe(9)
  })
  it('ends when its budget is used, keeps its leases until then, and its runs continue', async () => {
    const fakes = await scene({ idle: true, policy: { runLeaseMs: 3_000 } })
    const { id } = await fakes.post()
    const passing = fakes.service.tick({ budgetMs: 10_000 })
    await fakes.clock.advance(9_000)
    const other = createService({
      ...fakes,
      storage: fakes.storage.reopen(),
      policy: { runLeaseMs: 3_000 },
    })
    expect(await other.tick({ budgetMs: 100 })).toMatchObject({ messages: 0 })
    await fakes.clock.advance(1_000)
    expect(await passing).toMatchObject({ messages: 1 })
    fakes.runtime.answer(id, 'after the pass')
    await fakes.clock.advance(0)
    expect(await fakes.state(id)).toMatchObject({ kind: 'responded' })
  })
  it('is bounded while an agent stops, and ends the overdue runs of the agent', async () => {
    const dispatch = {
      backoffMs: [1_000],
      jitter: 0,
      runTimeoutMs: 40_000,
      deferredTimeoutMs: 60_000,
    }
    const { service, post, clock, ref } = await scene({ idle: true, policy: { dispatch } })
    await post()
    let passes = 0
    const pass = async () => {
      void service.tick({ budgetMs: 1_000 }).then(() => passes++)
      await clock.advance(15_000)
    }
    await pass()
    const stopping = service.agents.stop(ref)
    await pass()
    await stopping
    expect((await service.agents.get(ref)).state.kind).toBe('stopping')
    await pass()
    expect(passes).toBe(3)
    expect((await service.agents.get(ref)).state.kind).toBe('stopped')
  })
  it('keeps the leases of its runs, and ends each run at its deadline, without another pass', async () => {
    const dispatch = { ...defaultDispatchPolicy, runTimeoutMs: 60_000 }
    const { post, service, clock, another, runtime, state } = await scene({
      idle: true,
      agent: { maxAttempts: 1 },
      policy: { dispatch },
    })
    const { id } = await post()
    const passing = service.tick({ budgetMs: 1_000 })
    await clock.advance(50_000)
    await passing
    const other = another().tick({ budgetMs: 1_000 })
    await clock.advance(1_000)
    expect(await other).toMatchObject({ messages: 0 })
    expect(runtime.requests).toHaveLength(1)
    await clock.advance(60_000)
    expect(await state(id)).toMatchObject({ kind: 'failed', error: { code: 'RUNTIME_TIMEOUT' } })
    expect(clock.sleepers).toBe(0)
  })
  it('extends the lease of a run that starts at the moment another run ends', async () => {
    const { post, service, clock, another, runtime } = await scene({ idle: true })
    const [first, second] = [await post('1'), await post('2')]
    const passing = service.tick({ budgetMs: 1_000 })
    await clock.until(() => runtime.requests.length === 1)
    runtime.answer(first.id, 'ok')
    await clock.until(() => runtime.openRuns.includes(second.id))
    await clock.advance(50_000)
    await passing
    const other = another().tick({ budgetMs: 1_000 })
    await clock.advance(1_000)
    expect(await other).toMatchObject({ messages: 0 })
  })
  it('waits for a hanging receiver to the end of its budget, and sends all other deliveries in that time', async () => {
    const { service, post, hook, sender, clock } = await scene({
      ...echo,
      idle: true,
      agent: { concurrency: 100 },
    })
    const { webhook: hanging } = await hook('https://hangs.example')
    const { webhook } = await hook()
    const { send } = sender
    const neverAnswers: typeof send = () => new Promise(() => undefined)
    Object.assign(sender, {
      send: ((request) =>
        (request.url === hanging.url ? neverAnswers : send)(request)) satisfies typeof send,
    })
    for (let n = 0; n < 30; n++) await post('hello', { sessionId: String(n) })
    let passed = false
    const passing = service.tick({ budgetMs: 10_000 }).finally(() => (passed = true))
    await clock.advance(9_000)
    expect(sender.requests.filter(({ url }) => url === webhook.url)).toHaveLength(30)
    expect(passed).toBe(false)
    await clock.advance(1_000)
    // Eight of the other's are under way, and two rounds of them wait.
    expect(await passing).toMatchObject({ messages: 30, deliveries: 30 + 8 + 16 })
  })
  it('ends after a fixed number of rounds, even if work is left', async () => {
    const { service, post } = await scene({ ...echo, idle: true, agent: { concurrency: 1 } })
    for (let n = 0; n < 1_001; n++) await post('hello', { sessionId: String(n) })
    expect(await service.tick({ budgetMs: 60_000 })).toMatchObject({ messages: 1_000 })
    expect(await service.tick({ budgetMs: 60_000 })).toMatchObject({ messages: 1 })
  })
  it('does the rest of its work when a part of the storage fails', async () => {
    const { service, post, storage } = await scene({ ...echo, idle: true })
    await post()
    storage.fail('deliveries.cancelOrphans')
    expect(await service.tick({ budgetMs: 1_000 })).toMatchObject({ messages: 1, cancelled: 0 })
  })
})

describe('reading messages', () => {
  it('waits for the answer', async () => {
    const { post, service, ref, runtime, clock } = await scene()
    const { id } = await post()
    const reading = service.messages.get({ ...ref, messageId: id, waitMs: 5_000 })
    await clock.advance(1_000)
    runtime.answer(id, 'ok')
    expect((await reading).state.kind).toBe('responded')
    expect((await service.messages.get({ ...ref, messageId: id, waitMs: 5_000 })).state.kind).toBe(
      'responded',
    )
  })
  it('returns the current state of an unanswered message at the end of the wait', async () => {
    const { post, service, ref, runtime, clock } = await scene()
    const { id } = await post()
    const reading = service.messages.get({ ...ref, messageId: id, waitMs: 5_000 })
    await clock.advance(1_000)
    runtime.defer(id)
    await clock.advance(4_000)
    expect((await reading).state.kind).toBe('deferred')
  })
  it('does not find a message that is erased while it waits', async () => {
    const { post, service, ref, clock } = await scene()
    const endUser = { type: 'end_user', endUserId: 'u' } as const
    const { id } = await post('hello', { executionPrincipal: endUser })
    const reading = service.messages.get({ ...ref, messageId: id, waitMs: 1_000 })
    await clock.advance(500)
    await service.principals.erase({ projectId: ref.projectId, endUserId: 'u', force: true })
    await clock.advance(500)
    expect((await refusalOf(reading)).kind).toBe('message_not_found')
  })
  it('lists by session, status and state, newest first', async () => {
    const { service, ref, send, runtime, post } = await scene()
    const ids = [await post('1'), await post('2', { sessionId: 't' })].map(({ id }) => id)
    runtime.answer(ids[0] ?? '', 'ok')
    await send('3', { waitMs: 0 })
    const list = async (filter: object) =>
      (await service.messages.list({ ...ref, ...filter, limit: 10 })).data.map(
        ({ message }) => message,
      )
    expect(await list({})).toEqual(['3', '2', '1'])
    expect(await list({ sessionId: 't' })).toEqual(['2'])
    expect(await list({ status: 'responded' })).toEqual(['1'])
    expect(await list({ state: 'running' })).toEqual(['3', '2'])
  })
  it('does not find a message that does not exist', async () => {
    const { service, ref, project, post } = await scene()
    const { id } = await post()
    expect((await refusalOf(service.messages.get({ ...ref, messageId: project.id }))).kind).toBe(
      'message_not_found',
    )
    expect(
      (await refusalOf(service.messages.get({ ...ref, agent: 'nobody', messageId: id }))).kind,
    ).toBe('agent_not_found')
    expect(
      (await refusalOf(service.messages.list({ ...ref, agent: 'nobody', limit: 1 }))).kind,
    ).toBe('agent_not_found')
  })
})

it('the service counts its waiting callers, runs and backlog', async () => {
  const { service, send, post, storage, clock, runtime, hook, sender } = await scene()
  await hook()
  sender.hold()
  const waiting = send('first')
  const { id } = await post('second')
  await clock.advance(100)
  expect(service.host.load()).toMatchObject({ waitingCallers: 1, runs: 1, attempts: 0 })
  expect(await service.backlog()).toMatchObject({
    messages: { queued: 1, running: 1 },
    deliveries: { open: 0 },
  })
  runtime.answer(runtime.requests[0]?.messageId ?? '', 'ok')
  await waiting
  await clock.until(() => runtime.openRuns.includes(id))
  expect(service.host.load()).toMatchObject({ waitingCallers: 0, runs: 1, attempts: 1 })
  storage.fail('deliveries.backlog')
  await refusalOf(service.backlog())
})

it('the service returns exact counts by step, and leaves out steps without counts', async () => {
  const { service, send, hook, project, storage, clock } = await scene({
    handler: ({ message }) => ({ kind: 'answered', response: message }),
  })
  const webhook = await hook()
  await send()
  await clock.advance(0)
  const asked = { projectId: project.id, step: '5m' } as const
  const at = Math.floor(clock.now() / 300_000) * 300_000
  const stats = await service.stats(asked)
  expect(stats).toMatchObject({ from: at - 11 * 300_000, to: at, stepMs: 300_000 })
  expect(stats.rows).toMatchObject([{ at, messages: 1, runs: 1, answered: 1, attempts: 1 }])
  expect(stats.total.byClass['2xx']).toBe(1)
  const byWebhook = await service.stats({ ...asked, by: 'webhook' })
  expect(byWebhook.rows).toMatchObject([{ at, attempts: 1, messages: 0 }])
  expect(webhook).toBeDefined()
  storage.fail('counts.read')
  await refusalOf(service.stats(asked))
})

it('the service refuses an id without a kind, and more counts than one answer can have', async () => {
  const { service, project, storage } = await scene()
  const asked = { projectId: project.id, step: '5m' } as const
  const refused = async (more: Partial<Parameters<typeof service.stats>[0]>) =>
    await refusalOf(service.stats({ ...asked, ...more }))
  expect(await refused({ id: 'an agent' })).toMatchObject({ issues: [{ path: 'id' }] })
  const row = { ...asked, subject: 'webhook', id: '', stepMs: 300_000, at: 0, counts: {} } as const
  storage.counts.read = ({ limit = Infinity }) =>
    Promise.resolve(success(Array.from({ length: limit }, () => row)))
  expect(await refused({ by: 'webhook' })).toMatchObject({ issues: [{ path: 'from' }] })
})

it('a ping tells whether the storage works', async () => {
  const { service, storage } = await scene()
  await service.host.ping()
  await storage.close()
  expect(await refusalOf(service.host.ping())).toMatchObject({ kind: 'unavailable' })
})

it('the service refuses a delivery lease that ends before an attempt can', () => {
  const withDeadline = (deadlineMs: number) => () =>
    createService({
      ...fakePlatform(),
      policy: { deliver: { ...defaultPolicy.deliver, deadlineMs } },
    })
  expect(withDeadline(30_000)).toThrow(
    new RangeError(
      'policy.deliver.leaseMs is 30000; it takes more than deadlineMs, which is 30000',
    ),
  )
  expect(withDeadline(29_999)).not.toThrow()
})
