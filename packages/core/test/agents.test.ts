import { describe, expect, it, vi } from 'vitest'
import { createService, type AgentChanges, type SendInput } from '@org/agent-messaging-core'
import { defaultLimits, failure, success, isUuid } from '@org/agent-messaging-core/runtime'
import { adoptMasterKey } from '../src/maintenance/master-key.js'
import {
  fakeCrypto,
  fakeRuntime,
  newMessage,
  refusalOf,
  mapped,
} from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const eventsOf = (deliveries: readonly { body: string }[]) =>
  deliveries.map(({ body }) => (JSON.parse(body) as { event: string }).event)

/** A scene in which the start of a second agent, `slow`, takes `startMs`. */
async function slowStart(startMs: number) {
  const fakes = await scene({
    handler: ({ message }) => ({ kind: 'answered', response: message }),
  })
  const { runtime, clock, service, project } = fakes
  const { start } = runtime
  Object.assign(runtime, {
    start: async (...input: Parameters<typeof start>) => {
      await clock.sleep(startMs)
      return start(...input)
    },
  })
  const slow = { projectId: project.id, name: 'slow', runtime: { kind: 'fake' } } as const
  const creating = service.agents.create(slow)
  await clock.advance(100)
  const send = (waitMs?: number, more: Partial<SendInput> = {}) =>
    service.messages.send({
      projectId: project.id,
      agent: 'slow',
      sessionId: 's',
      message: 'hello',
      waitMs,
      ...more,
    })
  return { ...fakes, creating, sendToSlow: send }
}

describe('a send to a starting agent', () => {
  it('waits for the start and is answered', async () => {
    const { sendToSlow, clock } = await slowStart(3_000)
    const sending = sendToSlow()
    await clock.advance(4_000)
    expect((await sending).message.state).toMatchObject({
      kind: 'responded',
      response: 'hello',
    })
  })
  it('is refused, and stores nothing, if the agent does not run within the wait', async () => {
    const { sendToSlow, clock, service, project } = await slowStart(9_000)
    const sending = sendToSlow(2_000)
    await clock.advance(2_000)
    expect(await refusalOf(sending)).toMatchObject({
      kind: 'agent_not_running',
      state: 'starting',
    })
    const ref = { projectId: project.id, agent: 'slow' }
    const page = await service.messages.list({ ...ref, limit: 10 })
    expect(page.data).toEqual([])
  })
  it('that fails unexpectedly no longer counts as a wait', async () => {
    const { sendToSlow, clock, storage, creating } = await slowStart(90_000)
    const created = creating.catch(String)
    const access = { caller: 'ada', permissions: [], sessions: 'all' } as const
    const fault = new Error('the storage is broken')
    for (let n = 0; n < 11; n++) {
      const sending = sendToSlow(30_000, { access }).catch(String)
      await clock.advance(0)
      const get = vi.spyOn(storage.agents, 'get').mockRejectedValue(fault)
      await clock.advance(1_000)
      get.mockRestore()
      expect(await sending).toBe(String(fault))
    }
    expect(await created).toBe(String(fault))
  })
  it('is refused at once when the caller does not wait', async () => {
    const { sendToSlow } = await slowStart(3_000)
    expect((await refusalOf(sendToSlow(0))).kind).toBe('agent_not_running')
  })
  it('is refused at once when the start fails', async () => {
    const { sendToSlow, clock, runtime } = await slowStart(3_000)
    runtime.failStart('no model')
    const sending = sendToSlow()
    await clock.advance(4_000)
    expect(await refusalOf(sending)).toMatchObject({
      kind: 'agent_not_running',
      state: 'error',
    })
  })
  it('is refused when the service stops', async () => {
    const { sendToSlow, service, clock } = await slowStart(20_000)
    const sending = sendToSlow()
    const stopping = service.stop()
    expect((await refusalOf(sending)).kind).toBe('agent_not_running')
    await clock.advance(30_000)
    await stopping
  })
  it('counts as a wait of its caller, who has ten', async () => {
    const { sendToSlow, clock } = await slowStart(9_000)
    const access = { caller: 'u1', permissions: [], sessions: 'all' } as const
    const sending = Array.from({ length: 10 }, () => sendToSlow(3_000, { access }))
    const other = sendToSlow(3_000)
    await clock.advance(0)
    expect((await refusalOf(sendToSlow(3_000, { access }))).kind).toBe('agent_not_running')
    await clock.advance(3_000)
    for (const one of [...sending, other]) await refusalOf(one)
    const again = sendToSlow(9_000, { access })
    await clock.advance(9_000)
    expect((await again).message.state.kind).toBe('responded')
  })
  it('stores nothing for a caller that has left', async () => {
    const { sendToSlow, clock, service, project } = await slowStart(3_000)
    const abort = { aborted: false }
    const sending = sendToSlow(9_000, { abort })
    await clock.advance(2_890)
    abort.aborted = true
    await clock.advance(8_000)
    expect((await refusalOf(sending)).kind).toBe('agent_not_running')
    const ref = { projectId: project.id, agent: 'slow' }
    expect((await service.messages.list({ ...ref, limit: 10 })).data).toEqual([])
  })
  it('shares one read with all sends that wait for the same agent', async () => {
    const { sendToSlow, clock, storage } = await slowStart(9_000)
    const sending = Array.from({ length: 100 }, () => sendToSlow(3_000))
    await clock.advance(1_000)
    const { get } = storage.agents
    let reads = 0
    Object.assign(storage.agents, {
      get: (...args: Parameters<typeof get>) => {
        reads++
        return get(...args)
      },
    })
    await clock.advance(1_000)
    expect(reads).toBeLessThanOrEqual(3)
    await clock.advance(1_000)
    for (const one of sending) await refusalOf(one)
  })
})

describe('creating an agent', () => {
  it('starts the agent and returns it running', async () => {
    const { service, project } = await scene()
    const created = await service.agents.create({
      projectId: project.id,
      name: 'second',
      runtime: { kind: 'fake' },
    })
    expect(created).toMatchObject({
      agent: {
        name: 'second',
        desiredState: 'running',
        state: { kind: 'running' },
        defaultExecutionPrincipal: { type: 'service' },
        maxAttempts: 3,
      },
    })
  })
  it('leaves an agent stopped that is created with the desired state stopped', async () => {
    const { service, project } = await scene({ agent: { name: 'bot' } })
    const created = await service.agents.create({
      projectId: project.id,
      name: 'idle',
      runtime: { kind: 'fake' },
      desiredState: 'stopped',
    })
    expect(created.agent).toMatchObject({
      desiredState: 'stopped',
      state: { kind: 'stopped' },
    })
  })
  it('returns an agent whose first start failed, with the error', async () => {
    const { service, project, runtime } = await scene()
    runtime.failStart('no model')
    const created = await service.agents.create({
      projectId: project.id,
      name: 'broken',
      runtime: { kind: 'fake' },
    })
    expect(created.agent.state).toMatchObject({
      kind: 'error',
      lastError: { message: 'no model' },
    })
  })
  it.each([
    ['running', 9_000],
    ['starting', 11_000],
  ])('returns an agent as %s whose start takes %d ms', async (state, startMs) => {
    const { creating, clock } = await slowStart(startMs)
    await clock.advance(10_000)
    expect((await creating).agent.state.kind).toBe(state)
  })
  it('refuses one agent more than the limit of the project', async () => {
    const { service, project } = await scene({
      policy: { limits: { ...defaultLimits, agentsPerProject: 1 } },
    })
    const created = await refusalOf(
      service.agents.create({
        projectId: project.id,
        name: 'second',
        runtime: { kind: 'fake' },
      }),
    )
    expect(created).toEqual({ kind: 'too_many_agents' })
  })
  it('starts it if the desired state is running, and returns it running', async () => {
    const { bot, runtime, clock } = await scene()
    expect(bot).toMatchObject({ state: { kind: 'running', startedAt: clock.now() } })
    expect(runtime.starts).toHaveLength(1)
  })
  it.each([
    ['name', { name: 'Not A Slug' }],
    ['runtime.kind', { runtime: { kind: 'python' } }],
    [
      'runtime',
      { runtime: { kind: 'fake', deep: JSON.parse('['.repeat(20) + ']'.repeat(20)) as never } },
    ],
    ['defaultExecutionPrincipal', { defaultExecutionPrincipal: { type: 'root' } as never }],
    ['concurrency', { concurrency: 0 }],
    ['concurrency', { concurrency: 1_001 }],
    ['maxAttempts', { maxAttempts: 0 }],
    ['maxAttempts', { maxAttempts: 1.5 }],
    ['maxAttempts', { maxAttempts: 101 }],
    ['maxQueued', { maxQueued: -1 }],
    ['maxQueued', { maxQueued: 100_001 }],
    ['a2a', { a2a: { enabled: 'yes' } as never }],
    ['onBusy', { onBusy: 'wait' as 'queue' }],
    ['onBusy', { onBusy: 'reject' as const, maxQueued: 5 }],
    ['onBusy', { onBusy: 'queue' as const, maxQueued: 0 }],
  ])('refuses a bad %s', async (path, settings) => {
    const { service, project } = await scene()
    const input = { projectId: project.id, name: 'x', runtime: { kind: 'fake' }, ...settings }
    expect(await refusalOf(service.agents.create(input))).toMatchObject({
      kind: 'invalid',
      issues: [{ path }],
    })
  })
  it.each(['projectId', 'name', 'runtime'])('says that %s is required', async (path) => {
    const { service, project } = await scene()
    const input = { projectId: project.id, name: 'x', runtime: { kind: 'fake' } }
    expect(await refusalOf(service.agents.create({ ...input, [path]: undefined }))).toEqual({
      kind: 'invalid',
      issues: [{ path, message: 'is required' }],
    })
  })
  it('refuses a project that does not exist', async () => {
    const { service, ref } = await scene()
    const projectId = ref.projectId.replace(/^0/, 'f')
    const created = await refusalOf(
      service.agents.create({
        projectId,
        name: 'x',
        runtime: { kind: 'fake' },
      }),
    )
    expect(created).toEqual({ kind: 'project_not_found' })
    const { data } = await service.agents.list({ projectId, limit: 10 })
    expect(data).toEqual([])
  })
  it("refuses options with the runtime's error", async () => {
    const fussy = fakeRuntime({
      kind: 'fussy',
      parseOptions: async () => failure('url must be https'),
    })
    const fakes = await scene()
    const service = createService({ ...fakes, runtimes: [fussy] })
    const input = { projectId: fakes.project.id, name: 'x', runtime: { kind: 'fussy' } }
    expect(await refusalOf(service.agents.create(input))).toMatchObject({
      issues: [{ path: 'runtime', message: 'url must be https' }],
    })
  })
  it('refuses a name that another agent of the project has', async () => {
    const { service, project } = await scene()
    const again = { projectId: project.id, name: 'bot', runtime: { kind: 'fake' } }
    expect((await refusalOf(service.agents.create(again))).kind).toBe('name_taken')
  })
})

describe('an agent whose runtime signs and has secrets', () => {
  const secretive = () =>
    fakeRuntime({
      kind: 'http',
      signsRequests: true,
      ...echo,
      parseOptions: async ({ token, ...options }) =>
        success({ options, secrets: { token: token ?? '' } }),
    })

  async function withSecrets() {
    const runtime = secretive()
    const fakes = await scene()
    const service = createService({ ...fakes, runtimes: [runtime] })
    await service.start()
    const input = {
      projectId: fakes.project.id,
      name: 'remote',
      runtime: { kind: 'http', url: 'u', token: 'hush' },
      desiredState: 'running',
    } as const
    return {
      ...fakes,
      service,
      runtime,
      created: await service.agents.create(input),
      ref: { ...fakes.ref, agent: 'remote' },
    }
  }

  it('returns its signing secret once, hides other secrets, and passes both to the runtime', async () => {
    const { created, runtime, service, ref } = await withSecrets()
    expect(created.signingSecret).toMatch(/^whsec_/)
    expect(created.agent.runtime).toEqual({
      kind: 'http',
      options: { url: 'u' },
      secrets: expect.any(String) as string,
    })
    expect(runtime.starts[0]?.secrets).toEqual({
      token: 'hush',
      signingSecret: created.signingSecret,
    })
    expect(await service.agents.get(ref)).not.toHaveProperty('signingSecret')
  })
  it('returns the signing secret even if the storage fails right after', async () => {
    const fakes = await scene()
    const signing = fakeRuntime({ kind: 'signing', signsRequests: true })
    const service = createService({ ...fakes, runtimes: [signing] })
    fakes.storage.fail('agents.get')
    const input = {
      projectId: fakes.project.id,
      name: 'signed',
      runtime: { kind: 'signing' },
      desiredState: 'running',
    } as const
    expect((await service.agents.create(input)).signingSecret).toMatch(/^whsec_/)
  })
  it('keeps its signing secret when its options change, and gets a new one when its kind changes', async () => {
    const { created, runtime, service, ref, crypto } = await withSecrets()
    await service.agents.stop(ref)
    const same = await service.agents.update({
      ...ref,
      change: { runtime: { kind: 'http', url: 'v', token: 'new' } },
    })
    expect(same).toMatchObject({ agent: { runtime: { options: { url: 'v' } } } })
    expect(same).not.toHaveProperty('signingSecret')
    await service.agents.start(ref)
    expect(runtime.starts.at(-1)?.secrets).toEqual({
      token: 'new',
      signingSecret: created.signingSecret,
    })

    const fakes = await scene()
    const both = createService({ ...fakes, crypto, runtimes: [fakes.runtime, secretive()] })
    await both.tick({ budgetMs: 0 })
    await both.agents.stop(fakes.ref)
    const turned = await both.agents.update({
      ...fakes.ref,
      change: { runtime: { kind: 'http', url: 'u' } },
    })
    expect(turned.signingSecret).toMatch(/^whsec_/)
    await adoptMasterKey(fakes.storage, fakeCrypto('another key'))
    const lost = createService({
      ...fakes,
      crypto: fakeCrypto('another key'),
      runtimes: [secretive()],
    })
    const renewed = await lost.agents.update({
      ...fakes.ref,
      change: { runtime: { kind: 'http', url: 'u' } },
    })
    expect(renewed.signingSecret).toMatch(/^whsec_/)
    expect(renewed.signingSecret).not.toBe(turned.signingSecret)
  })
  it('gets a new signing secret for a runtime of another kind that signs too', async () => {
    const fakes = await scene()
    const runtimes = ['one', 'other'].map((kind) => fakeRuntime({ kind, signsRequests: true }))
    const { agents } = createService({ ...fakes, runtimes })
    const input = {
      projectId: fakes.project.id,
      name: 'signed',
      runtime: { kind: 'one' },
      desiredState: 'stopped',
    } as const
    const { signingSecret } = await agents.create(input)
    const change = { runtime: { kind: 'other' } }
    const turned = await agents.update({ projectId: fakes.project.id, agent: 'signed', change })
    expect(turned.signingSecret).toMatch(/^whsec_/)
    expect(turned.signingSecret).not.toBe(signingSecret)
  })
  it('does not start with another master key, and its error says why', async () => {
    const fakes = await withSecrets()
    const other = createService({
      ...fakes,
      storage: fakes.storage.reopen(),
      crypto: fakeCrypto('another key'),
      runtimes: [secretive()],
    })
    await adoptMasterKey(fakes.storage, fakeCrypto('another key'))
    await other.start()
    expect((await other.agents.get(fakes.ref)).state).toMatchObject({
      kind: 'error',
      lastError: { message: 'its secrets were sealed with another master key' },
    })
  })
})

describe('starting and stopping', () => {
  it('sends one event for each change', async () => {
    const { service, ref, hook, deliveries, clock } = await scene()
    await hook()
    for (const action of ['stop', 'stop', 'start', 'start'] as const)
      await service.agents[action](ref)
    await clock.advance(5_000)
    expect(eventsOf(await deliveries())).toEqual(['agent.stopped', 'agent.started'])
  })
  it('stop lets runs finish, and keeps queued messages for the next start', async () => {
    const { service, ref, post, runtime, clock, state } = await scene()
    const [running, queued] = [await post('1'), await post('2')]
    const stopping = service.agents.stop(ref)
    await clock.advance(2_000)
    expect((await stopping).state.kind).toBe('stopping')
    runtime.answer(running.id, 'finished')
    await clock.advance(5_000)
    expect((await service.agents.get(ref)).state.kind).toBe('stopped')
    expect(await state(running.id)).toMatchObject({ kind: 'responded' })
    expect(await state(queued.id)).toMatchObject({ kind: 'queued' })
    await service.agents.start(ref)
    await clock.until(() => runtime.openRuns.includes(queued.id))
  })
  it('stop starts no queued message, even if a slot is free', async () => {
    const { service, ref, post, runtime, clock, state } = await scene({ agent: { concurrency: 2 } })
    const [first, second, third] = [
      await post('1'),
      await post('2', { sessionId: 't' }),
      await post('3', { sessionId: 'u' }),
    ]
    const stopping = service.agents.stop(ref)
    await clock.advance(2_000)
    await stopping
    runtime.answer(first.id, 'ok')
    await clock.advance(5_000)
    expect(runtime.openRuns).toEqual([second.id])
    expect(await state(third.id)).toMatchObject({ kind: 'queued' })
  })
  it('a start during a stop lets the agent accept messages at once, beside the runs that have not ended', async () => {
    const { service, ref, post, runtime, clock, hook, deliveries } = await scene()
    await hook()
    const { id: long } = await post()
    const stopping = service.agents.stop(ref)
    await clock.advance(2_000)
    await stopping
    expect((await service.agents.start(ref)).state.kind).toBe('running')
    const { id } = await post('next', { sessionId: 'another' })
    expect(runtime.openRuns).toEqual([long, id])
    runtime.answer(long, 'ok')
    runtime.answer(id, 'ok')
    await clock.advance(0)
    const { id: last } = await post('last')
    expect(runtime.openRuns).toEqual([last])
    await clock.advance(5_000)
    expect((await service.agents.get(ref)).state.kind).toBe('running')
    expect(runtime.starts).toHaveLength(1)
    expect(eventsOf(await deliveries())).toEqual([
      'agent.started',
      'message.responded',
      'message.responded',
    ])
  })
  it('a stop after a start during a stop stops the agent', async () => {
    const { service, ref, post, runtime, clock } = await scene()
    const { id } = await post()
    for (const action of ['stop', 'start', 'stop', 'stop'] as const) {
      const done = service.agents[action](ref)
      await clock.advance(2_000)
      await done
    }
    const stateOf = async () => (await service.agents.get(ref)).state.kind
    expect(await stateOf()).toBe('stopping')
    runtime.answer(id, 'ok')
    await clock.advance(0)
    expect(await stateOf()).toBe('stopped')
  })
  it('a start of another process reverses a stop', async () => {
    const { service, another, ref, post, runtime, clock } = await scene()
    await post()
    const stopping = service.agents.stop(ref)
    await clock.advance(2_000)
    await stopping
    await another().agents.start(ref)
    await clock.advance(5_000)
    expect((await service.agents.get(ref)).state.kind).toBe('running')
    expect(runtime.starts).toHaveLength(1)
  })
  it('is stored by a process without workers, and done by a process with workers', async () => {
    const { service, ref, another, runtime, clock } = await scene()
    const admin = another()
    expect(await admin.agents.stop(ref)).toMatchObject({
      desiredState: 'stopped',
      state: { kind: 'running' },
    })
    await clock.advance(1_000)
    expect((await service.agents.get(ref)).state.kind).toBe('stopped')
    expect(await admin.agents.start(ref)).toMatchObject({
      desiredState: 'running',
      state: { kind: 'stopped' },
    })
    await clock.advance(1_000)
    expect((await service.agents.get(ref)).state.kind).toBe('running')
    expect(runtime.starts).toHaveLength(2)
  })
  it('is done by the next pass of a host without timers', async () => {
    const { service, ref } = await scene({ idle: true })
    await service.agents.stop(ref)
    await service.tick({ budgetMs: 1_000 })
    expect((await service.agents.get(ref)).state.kind).toBe('stopped')
  })
  it('is not found for an unknown agent', async () => {
    const { service, ref } = await scene()
    const nobody = { ...ref, agent: 'nobody' }
    const { start, stop, get, delete: remove } = service.agents
    for (const action of [start, stop, get, remove])
      expect((await refusalOf(action(nobody))).kind).toBe('agent_not_found')
  })
})

describe('an agent that fails', () => {
  it('to start is in error with the reason, and is retried at growing intervals', async () => {
    const { service, ref, runtime, clock, hook, deliveries } = await scene()
    await hook()
    await service.agents.stop(ref)
    runtime.failStart('no such program')
    const failed = await service.agents.start(ref)
    expect(failed.state).toEqual({
      kind: 'error',
      lastError: { code: 'RUNTIME_EXITED', message: 'no such program' },
      failures: 1,
      retryAt: clock.now() + 1_000,
    })
    await clock.advance(3_000)
    expect((await service.agents.get(ref)).state.kind).toBe('running')
    expect(eventsOf(await deliveries())).toEqual(['agent.stopped', 'agent.error', 'agent.started'])
  })
  it('at runtime is in error, loses its runs, and is started again', async () => {
    const { service, ref, bot, post, runtime, clock, state } = await scene()
    const { id } = await post()
    runtime.exit(bot.id, 'segmentation fault')
    await clock.advance(0)
    expect((await service.agents.get(ref)).state).toMatchObject({
      kind: 'error',
      lastError: { message: 'segmentation fault' },
    })
    expect(await state(id)).toMatchObject({ kind: 'queued' })
    await clock.until(() => runtime.openRuns.includes(id))
  })
  it('repeatedly is restarted at growing intervals, until it has run for a minute', async () => {
    const { runtime, bot, clock } = await scene()
    const exit = async (forMs: number) => {
      const started = runtime.starts.length
      runtime.exit(bot.id)
      await clock.advance(forMs)
      return runtime.starts.length - started
    }
    expect(await exit(3_000)).toBe(1)
    expect(await exit(3_000)).toBe(0)
    await clock.until(() => runtime.starts.length === 3)
    expect(await exit(20_000)).toBe(0)
    await clock.until(() => runtime.starts.length === 4)
    await clock.advance(61_000)
    expect(await exit(3_000)).toBe(1)
  })
  it('when its runtime is ended to stop a stuck run restarts at once without a counted failure', async () => {
    const { service, ref, bot, runtime, clock, hook, deliveries } = await scene()
    await hook()
    const stateOf = async () => (await service.agents.get(ref)).state
    for (let n = 0; n < 12; n++) {
      runtime.exit(bot.id, 'it did not end a cancelled run', true)
      await clock.advance(0)
      expect(await stateOf()).toMatchObject({
        kind: 'error',
        failures: 0,
        lastError: { message: 'it did not end a cancelled run' },
      })
      await clock.advance(1_000)
      expect(await stateOf()).toMatchObject({ kind: 'running' })
    }
    runtime.exit(bot.id)
    await clock.advance(0)
    expect(await stateOf()).toMatchObject({ failures: 1 })
    await clock.advance(0)
    expect(eventsOf(await deliveries()).slice(0, 2)).toEqual(['agent.error', 'agent.started'])
  })
  it('during a stop that was reversed is started again, and the stop does not end the new runtime', async () => {
    const { service, ref, bot, post, runtime, clock } = await scene()
    await post()
    const stopping = service.agents.stop(ref)
    await clock.advance(2_000)
    const starting = service.agents.start(ref)
    await clock.advance(0)
    runtime.exit(bot.id)
    await clock.advance(5_000)
    await Promise.all([stopping, starting])
    expect(runtime.starts).toHaveLength(2)
    expect((await service.agents.get(ref)).state.kind).toBe('running')
  })
  it('keeps its slots until its runs have ended', async () => {
    const { bot, post, runtime, clock, storage, state } = await scene({
      agent: { concurrency: 1 },
      policy: { runLeaseMs: 3_000 },
      handler: () => new Promise(() => {}),
    })
    await post('never ends')
    runtime.exit(bot.id)
    await clock.advance(0)
    await storage.agents.changeState({
      agentId: bot.id,
      from: 'error',
      to: { kind: 'running', startedAt: clock.now() },
    }) // by another process
    await clock.advance(1_000)
    expect(runtime.starts).toHaveLength(2)
    const { id } = await post('waits', { sessionId: 'another' })
    await clock.advance(30_000)
    expect(runtime.requests).toHaveLength(1)
    expect(await state(id)).toMatchObject({ kind: 'queued' })
  })
  it('can be stopped', async () => {
    const { service, ref, bot, runtime, clock } = await scene()
    runtime.exit(bot.id)
    await clock.advance(0)
    expect((await service.agents.stop(ref)).state.kind).toBe('stopped')
  })
  it('stays stopped if it is stopped before its next start', async () => {
    const { service, ref, storage, bot, clock } = await scene()
    await service.agents.stop(ref)
    await storage.agents.changeState({ agentId: bot.id, from: 'stopped', to: { kind: 'starting' } })
    await clock.advance(1_000)
    expect((await service.agents.get(ref)).state.kind).toBe('stopped')
  })
})

describe('the supervisor', () => {
  it('takes over running agents at a start, without an event', async () => {
    const { another, service, runtime, ref, deliveries, hook } = await scene()
    await hook()
    await service.stop()
    const next = another()
    await next.start()
    expect(runtime.starts).toHaveLength(2)
    expect((await next.agents.get(ref)).state.kind).toBe('running')
    expect(await deliveries()).toEqual([])
  })
  it('supervises the other agents while one stops slowly', async () => {
    const { another, service, ref, project, post, clock } = await scene()
    await post()
    const stopping = service.agents.stop(ref)
    await clock.advance(5_000)
    await stopping
    const other = {
      projectId: project.id,
      name: 'other',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    } as const
    await another().agents.create(other)
    await clock.advance(5_000)
    expect((await service.agents.get({ ...ref, agent: 'other' })).state.kind).toBe('running')
    expect((await service.agents.get(ref)).state.kind).toBe('stopping')
  })
  it('does not undo newer changes with an older list of agents', async () => {
    const { service, storage, ref, project, clock, runtime, post } = await scene()
    const { changeState } = storage.agents
    const slowly = (change: Parameters<typeof changeState>[0]) =>
      clock.sleep(1_500).then(() => changeState(change))
    Object.assign(storage.agents, { changeState: slowly })
    const creating = service.agents.create({
      projectId: project.id,
      name: 'new',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
    await clock.advance(3_000) // three ticks find the agent stopped or starting in that time
    await creating
    expect((await post('x', { ...ref, agent: 'new' })).state.kind).toBe('running')
    await clock.advance(5_000)
    expect(runtime.starts).toHaveLength(2)
  })
  it('survives a runtime that throws, and reports it', async () => {
    const { service, project, runtime, telemetry } = await scene()
    Object.assign(runtime, {
      start: () => {
        throw new TypeError('a bug')
      },
    })
    const broken = {
      projectId: project.id,
      name: 'broken',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    } as const
    await service.agents.create(broken)
    expect(telemetry.named('worker.failed')).toMatchObject([
      { worker: 'supervisor', reason: 'TypeError: a bug' },
    ])
  })
  it('leaves agents of unknown runtimes to other processes', async () => {
    const fakes = await scene()
    await fakes.service.stop()
    const other = createService({ ...fakes, storage: fakes.storage.reopen(), runtimes: [] })
    await other.start()
    expect((await other.agents.get(fakes.ref)).state.kind).toBe('running')
  })
  it('notices the stops, starts and deletions of another process', async () => {
    const { another, ref, service, clock, runtime } = await scene()
    const elsewhere = another()
    await elsewhere.agents.stop(ref)
    await clock.advance(1_000)
    expect((await service.agents.get(ref)).state.kind).toBe('stopped')
    await elsewhere.agents.start(ref)
    await clock.advance(1_000)
    await elsewhere.agents.delete(ref)
    await clock.advance(1_000)
    expect(runtime.starts.length).toBeGreaterThan(1)
    expect(
      (await refusalOf(service.messages.send({ ...ref, sessionId: 's', message: 'x' }))).kind,
    ).toBe('agent_not_found')
  })
  it('continues after an outage of the storage, and after an exception', async () => {
    const { service, storage, clock, telemetry, another, ref } = await scene()
    storage.fail('agents.listActive')
    await clock.advance(1_000)
    expect(telemetry.named('store.unavailable')).toHaveLength(1)
    const { listActive } = storage.agents
    Object.assign(storage.agents, {
      listActive: () => {
        throw new TypeError('a bug')
      },
    })
    await clock.advance(1_000)
    expect(telemetry.named('worker.failed')).toMatchObject([
      { worker: 'supervisor', reason: 'TypeError: a bug' },
    ])
    Object.assign(storage.agents, { listActive })
    await another().agents.stop(ref)
    await clock.advance(1_000)
    expect((await service.agents.get(ref)).state.kind).toBe('stopped')
  })
  it('continues after a failed read', async () => {
    const { service, storage, ref } = await scene()
    const { get } = storage.agents
    let calls = 0
    Object.assign(storage.agents, {
      get: (...args: Parameters<typeof get>) =>
        ++calls === 2
          ? Promise.resolve(failure({ kind: 'unavailable', reason: 'x' }))
          : get(...args),
    })
    expect((await service.agents.stop(ref)).desiredState).toBe('stopped')
  })
})

describe('changing an agent', () => {
  it('applies to the next message', async () => {
    const { service, ref, send } = await scene(echo)
    const change = {
      name: 'robot',
      defaultExecutionPrincipal: { type: 'end_user' },
      concurrency: 1,
      maxAttempts: undefined,
    } as const
    const { agent } = await service.agents.update({ ...ref, change })
    expect(agent).toMatchObject({ name: 'robot', concurrency: 1, maxAttempts: 3 })
    expect((await refusalOf(send('hi', { agent: 'robot' }))).kind).toBe('end_user_id_required')
  })
  it('refuses invalid settings, a taken name, an unknown agent, and a new runtime of a running agent', async () => {
    const { service, ref, project, storage } = await scene()
    await service.agents.create({ projectId: project.id, name: 'other', runtime: { kind: 'fake' } })
    const kindOf = async (change: object, agent = 'bot') =>
      (await refusalOf(service.agents.update({ ...ref, agent, change }))).kind
    expect(await kindOf({ name: '' })).toBe('invalid')
    expect(await kindOf({ name: 'other' })).toBe('name_taken')
    expect(await kindOf({ name: 'x' }, 'nobody')).toBe('agent_not_found')
    expect(await kindOf({ runtime: { kind: 'fake' } })).toBe('agent_not_stopped')
    await service.agents.stop(ref)
    expect(await kindOf({ runtime: { kind: 'nope' } })).toBe('invalid')
    // Started between the look and the change.
    const { update } = storage.agents
    Object.assign(storage.agents, {
      update: (...args: Parameters<typeof update>) => mapped(update(...args), () => 'not_stopped'),
    })
    expect(await kindOf({ runtime: { kind: 'fake' } })).toBe('agent_not_stopped')
  })
})

describe('a busy session', () => {
  it('accepts as many messages as maxQueued of its agent allows', async () => {
    const { service, ref, post, send, clock, runtime } = await scene({
      agent: { onBusy: 'reject' },
    })
    await post()
    await clock.until(() => runtime.openRuns.length === 1)
    expect(await refusalOf(send())).toEqual({ kind: 'session_full' })
    const change = async (settings: AgentChanges) =>
      (await service.agents.update({ ...ref, change: settings })).agent.maxQueued
    expect(await change({ onBusy: 'queue' })).toBe(100)
    expect((await post()).state.kind).toBe('queued')
    expect(await change({ maxQueued: 7 })).toBe(7)
    expect(await change({ onBusy: 'queue' })).toBe(7)
    expect(await change({ concurrency: 2 })).toBe(7)
    expect(await change({ onBusy: 'reject' })).toBe(0)
    expect(await change({ onBusy: 'queue', maxQueued: 3 })).toBe(3)
  })
})

describe('deleting an agent', () => {
  it('by force cancels its open messages, each with its events', async () => {
    const { service, ref, post, hook, deliveries, clock, runtime } = await scene()
    await hook()
    const sessions = Array.from({ length: 60 }, (_, n) => `session ${n}`)
    const sent = await Promise.all(
      sessions.flatMap((sessionId) => [post('first', { sessionId }), post('next', { sessionId })]),
    )
    await clock.until(() => runtime.openRuns.length === 16)
    await service.agents.delete({ ...ref, force: true })
    expect(runtime.openRuns).toEqual([])
    const page = await service.deliveries.list({
      projectId: ref.projectId,
      event: 'message.cancelled',
      limit: 100,
    })
    expect(page.nextCursor).not.toBeNull()
    const told = (await deliveries()).filter(({ body }) => body.includes('message.cancelled'))
    expect(told.length).toBeGreaterThan(40)
    const [first] = told
    expect(sent.map(({ id }) => id)).toContain(JSON.parse(first?.body ?? '').data.messageId)
  })

  it('by force is refused while messages arrive faster than they are cancelled', async () => {
    const { service, ref, post, storage, bot } = await scene()
    const { list } = storage.messages
    await post()
    let late = 0
    Object.assign(storage.messages, {
      list: (...args: Parameters<typeof list>) =>
        mapped(list(...args), async (page) => {
          await storage.messages.accept(newMessage(bot, { sessionId: `late ${++late}` }))
          return page
        }),
    })
    const refused = await refusalOf(service.agents.delete({ ...ref, force: true }))
    expect(refused).toEqual({ kind: 'agent_busy' })
  })

  it('is refused while messages are open, except with force', async () => {
    const { service, ref, post } = await scene()
    await post()
    expect((await refusalOf(service.agents.delete(ref))).kind).toBe('agent_busy')
    await service.agents.delete({ ...ref, force: true })
    expect((await service.agents.list({ projectId: ref.projectId, limit: 10 })).data).toEqual([])
  })
})

it.each(['start', 'stop', 'update', 'delete'] as const)(
  '%s answers not found when the agent goes away during the call',
  async (action) => {
    const { service, storage, ref, bot } = await scene()
    const { get } = storage.agents
    Object.assign(storage.agents, {
      get: (...args: Parameters<typeof get>) =>
        mapped(get(...args), (agent) =>
          storage.agents.delete(ref.projectId, bot.id).then(() => agent),
        ),
    })
    expect((await refusalOf(service.agents[action]({ ...ref, change: {} }))).kind).toBe(
      'agent_not_found',
    )
  },
)

it.each(['create', 'start', 'stop', 'update'] as const)(
  '%s answers with its result when the agent goes away right after',
  async (action) => {
    const { service, storage, ref, project } = await scene()
    const { get, create, update } = storage.agents
    const vanish = <T>(answer: T): T => {
      Object.assign(storage.agents, {
        get: (...args: Parameters<typeof get>) => mapped(get(...args), () => undefined),
      })
      return answer
    }
    Object.assign(storage.agents, {
      create: (...args: Parameters<typeof create>) => mapped(create(...args), vanish),
      update: (...args: Parameters<typeof update>) => mapped(update(...args), vanish),
    })
    const input = {
      projectId: project.id,
      name: 'short-lived',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    } as const
    expect(await service.agents[action]({ ...input, ...ref, change: {} })).toBeDefined()
  },
)

it('has an id that is a UUID, by which it is found as well as by name', async () => {
  const { service, ref, bot } = await scene()
  expect(isUuid(bot.id)).toBe(true)
  expect((await service.agents.get({ ...ref, agent: bot.id })).name).toBe('bot')
})
