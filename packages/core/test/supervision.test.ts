import { describe, expect, it, onTestFinished } from 'vitest'
import { createService } from '@org/agent-messaging-core'
import { success, type RunningAgent } from '@org/agent-messaging-core/runtime'
import type { AgentState } from '@org/agent-messaging-core/storage'
import { fakeRuntime, refusalOf } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

type Health = Awaited<ReturnType<RunningAgent['health']>>

/** A running agent whose health the test decides. `asked` counts the health checks. */
async function withHealth(options: Parameters<typeof scene>[0] = {}) {
  const fakes = await scene({ ...options, idle: true })
  const { runtime, service, ref } = fakes
  const ward = { asked: 0, health: (): Health | Promise<Health> => ({ ok: true }) }
  const { start } = runtime
  Object.assign(runtime, {
    start: (...args: Parameters<typeof start>) =>
      start(...args).then((started) =>
        started.ok
          ? success({
              ...started.value,
              health: async () => {
                ward.asked++
                return ward.health()
              },
            })
          : started,
      ),
  })
  await service.agents.stop(ref)
  await service.agents.start(ref)
  await service.start()
  return {
    ...fakes,
    ward,
    stateOf: async () => (await service.agents.get(ref)).state,
  }
}

const eventsOf = (deliveries: readonly { body: string }[]) =>
  deliveries.map(({ body }) => (JSON.parse(body) as { event: string }).event)

it('a late report of the end of a stopped runtime does not end the runtime that runs since', async () => {
  const { runtime, service, ref, clock, telemetry } = await scene({ idle: true })
  const ends: Parameters<typeof runtime.start>[1][] = []
  const { start } = runtime
  Object.assign(runtime, {
    start: (...[agent, onExit]: Parameters<typeof start>) => (
      ends.push(onExit),
      start(agent, onExit)
    ),
  })
  await service.start()
  for (const action of ['stop', 'start', 'stop', 'start'] as const)
    await service.agents[action](ref)
  expect(ends).toHaveLength(2)
  ends[0]?.({ code: 'RUNTIME_EXITED', message: 'late' })
  await clock.advance(100)
  expect((await service.agents.get(ref)).state.kind).toBe('running')
  expect(telemetry.named('agent.changed').filter(({ to }) => to === 'error')).toEqual([])
})

describe('an agent that runs', () => {
  it('is checked every 30 s', async () => {
    const { ward, clock } = await withHealth()
    await clock.advance(29_000)
    expect(ward.asked).toBe(0)
    await clock.advance(62_000)
    expect(ward.asked).toBe(3)
  })
  it('is started, checked and stopped beside many others without a leak warning of Node', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): number => warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const { service, project, runtime, another, ward, clock } = await withHealth()
    for (let n = 0; n < 12; n++)
      await service.agents.create({
        projectId: project.id,
        name: `bot-${n}`,
        runtime: { kind: 'fake' },
        desiredState: 'running',
      })
    await service.stop()

    const { start } = runtime
    const listening: typeof start = (agent, onExit, signal) => {
      signal?.addEventListener('abort', () => undefined)
      return start(agent, onExit, signal)
    }
    Object.assign(runtime, { start: listening })
    const next = another()
    await next.start()
    ward.asked = 0
    await clock.advance(31_000)
    await next.stop()
    await new Promise(setImmediate) // Node tells of it later
    expect([ward.asked, warnings]).toEqual([13, []])
  })
  it('is checked at the same interval after the clock is set back', async () => {
    const { ward, clock } = await withHealth()
    await clock.advance(31_000)
    clock.set(clock.now() - 3_600_000)
    await clock.advance(62_000)
    expect(ward.asked).toBeGreaterThan(2)
  })
  it.each<[string, () => Health | Promise<Health>, string]>([
    ['says that it is not well', () => ({ ok: false, detail: 'no disk' }), 'no disk'],
    ['does not say why', () => ({ ok: false }), 'no reason given'],
    ['throws', () => Promise.reject(new Error('a bug')), 'Error: a bug'],
    ['says nothing', () => new Promise(() => {}), 'no answer within 5000 ms'],
    [
      'gives a reason that cannot be stored',
      () => ({ ok: false, detail: 'a\0b' }),
      'the reason cannot be stored as text',
    ],
    ['says much', () => ({ ok: false, detail: `${'x'.repeat(499)}😀` }), 'x'.repeat(499)],
  ])('is in error when it %s three times in a row', async (_, health, why) => {
    const { ward, clock, stateOf } = await withHealth()
    ward.health = health
    await clock.until(() => ward.asked === 2)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    await clock.until(async () => (await stateOf()).kind === 'error')
    expect(await stateOf()).toMatchObject({
      lastError: { code: 'RUNTIME_UNHEALTHY', message: `unhealthy 3 times in a row: ${why}` },
      failures: 1,
      retryAt: expect.any(Number) as number,
    })
  })
  it('is healthy again after one good check', async () => {
    const { ward, clock, stateOf } = await withHealth()
    ward.health = () => ({ ok: ward.asked % 3 === 0 })
    await clock.advance(600_000)
    expect(ward.asked).toBeGreaterThan(15)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
  })
})

describe('an agent that is not well', () => {
  const sick = async (options: Parameters<typeof scene>[0] = {}) => {
    const fakes = await withHealth(options)
    fakes.ward.health = () => ({ ok: false, detail: 'down' })
    return fakes
  }

  it('starts no runs, keeps its queue, and continues when it is healthy, without a lost message or a counted attempt', async () => {
    const { ward, clock, stateOf, post, runtime, state, hook, deliveries, service } = await sick()
    await hook()
    const [first, second] = [await post('under way'), await post('waits')]
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    runtime.answer(first.id, 'ended well all the same')
    await clock.advance(600_000)
    expect(await state(first.id)).toMatchObject({ kind: 'responded' })
    expect(await state(second.id)).toMatchObject({ kind: 'queued' })
    expect(await stateOf()).toMatchObject({
      kind: 'error',
      lastError: { message: 'still unhealthy: down' },
    })
    ward.health = () => ({ ok: true })
    await clock.until(() => runtime.openRuns.includes(second.id), { maxMs: 120_000 })
    expect(runtime.requests.at(-1)).toMatchObject({ messageId: second.id, attempt: 1 })
    const events = eventsOf(await deliveries()).filter((event) => event.startsWith('agent.'))
    expect(events).toEqual(['agent.error', 'agent.started'])
    const stopping = service.stop({ graceMs: 0 })
    await clock.advance(5_000)
    await stopping
    expect(clock.sleepers).toBe(0)
  })
  it('continues when it is healthy again, without a restart and without an end to its runs', async () => {
    const { ward, clock, stateOf, runtime, post, state } = await sick()
    const { id } = await post('long')
    const starts = runtime.starts.length
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    await clock.advance(10_000) // asked again, and still not well: its run is not ended for that
    ward.health = () => ({ ok: true })
    await clock.until(async () => (await stateOf()).kind === 'running', { maxMs: 120_000 })
    expect(runtime.starts).toHaveLength(starts)
    runtime.answer(id, 'long indeed')
    await clock.advance(0)
    expect(await state(id)).toMatchObject({ kind: 'responded' })
  })
  it('is detected before its failing runs have used up their attempts', async () => {
    const { ward, clock, stateOf, runtime, state, post } = await sick({
      handler: () => {
        if (ward.health === well) return { kind: 'answered', response: 'back' }
        return {
          kind: 'failed',
          error: { code: 'RUNTIME_ERROR', message: 'ECONNREFUSED' },
          retryable: true,
        }
      },
    })
    const well = (): Health => ({ ok: true })
    const { id } = await post('sent while it is down')
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 10_000 })
    await clock.advance(3_600_000)
    expect(await state(id)).toMatchObject({ kind: 'queued' })
    ward.health = well
    await clock.until(async () => (await state(id)).kind === 'responded', { maxMs: 120_000 })
    expect(runtime.requests.at(-1)).toMatchObject({ attempt: 3 })
  })
  it('has the reason as its error if it cannot be restarted', async () => {
    const { clock, stateOf, runtime } = await sick()
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    runtime.failStart('no such program')
    await clock.until(async () => ((await stateOf()) as { failures?: number }).failures === 2)
    expect(await stateOf()).toMatchObject({
      lastError: { code: 'RUNTIME_EXITED', message: 'no such program' },
    })
  })
  it('is checked again without limit', async () => {
    const { clock, stateOf } = await sick()
    await clock.advance(3_600_000)
    const state = (await stateOf()) as AgentState & { kind: 'error' }
    expect(state.failures).toBeGreaterThan(20)
    expect(state.retryAt).toBeDefined()
  })
  it('is in error for all processes, and after a restart', async () => {
    const { ward, clock, stateOf, another, service, post, state, hook, deliveries } = await sick()
    const beside = another()
    await beside.start()
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    await hook()
    await service.stop()
    await clock.advance(600_000)
    await beside.stop()
    const next = another()
    await next.start()
    await clock.advance(600_000)
    expect(await stateOf()).toMatchObject({
      kind: 'error',
      lastError: { code: 'RUNTIME_UNHEALTHY' },
    })
    expect(await deliveries()).toEqual([])
    ward.health = () => ({ ok: true })
    await clock.until(async () => (await stateOf()).kind === 'running', { maxMs: 120_000 })
    const { id } = await post()
    await clock.until(async () => (await state(id)).kind === 'running')
    expect(eventsOf(await deliveries())).toEqual(['agent.started'])
  })
  it('is left to other processes by a process without its runtime', async () => {
    const fakes = await sick()
    await fakes.clock.until(async () => (await fakes.stateOf()).kind === 'error', {
      maxMs: 120_000,
    })
    await fakes.service.stop()
    const other = createService({ ...fakes, storage: fakes.storage.reopen(), runtimes: [] })
    await other.start()
    await fakes.clock.advance(120_000)
    expect(await fakes.stateOf()).toMatchObject({ kind: 'error', failures: 1 })
  })
  it('is not checked after its stop, and ignores a late result', async () => {
    const { ward, clock, stateOf, service } = await sick()
    await clock.until(() => ward.asked === 2)
    ward.health = () => new Promise(() => {})
    await clock.until(() => ward.asked === 3)
    await service.stop()
    await clock.advance(10_000)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    expect(clock.sleepers).toBe(0)
  })
  it('ignores the result of a check from before its restart', async () => {
    const { ward, clock, stateOf, service, ref } = await sick()
    await clock.until(() => ward.asked === 2)
    let say = (_: Health): void => undefined
    ward.health = () => new Promise((resolve) => (say = resolve))
    await clock.until(() => ward.asked === 3)
    ward.health = () => ({ ok: true })
    await service.agents.stop(ref)
    await service.agents.start(ref)
    say({ ok: false })
    await clock.advance(10_000)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
  })
  it('continues when it is healthy after a stop and a start before its runs have ended', async () => {
    const { ward, clock, stateOf, service, ref, post, runtime } = await sick()
    await clock.until(async () => (await stateOf()).kind === 'running', { maxMs: 120_000 })
    const { id: long } = await post()
    ward.health = () => ({ ok: false })
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    const stopping = service.agents.stop(ref)
    await clock.advance(2_000)
    await stopping
    ward.health = () => ({ ok: true })
    expect((await service.agents.start(ref)).state).toMatchObject({
      kind: 'running',
    })
    const { id } = await post('next', { sessionId: 'another' })
    expect(runtime.openRuns).toEqual([long, id])
  })
  it('is started by a person only if it is healthy', async () => {
    const { ward, clock, stateOf, service, ref } = await sick()
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    expect((await service.agents.start(ref)).state).toMatchObject({
      kind: 'error',
      failures: 2,
    })
    ward.health = () => ({ ok: true })
    expect((await service.agents.start(ref)).state).toMatchObject({
      kind: 'running',
    })
  })
})

describe('an agent that fails again and again', () => {
  const failing = async () => {
    const fakes = await scene()
    const { clock, runtime, bot, service, ref } = fakes
    const stateOf = async () => (await service.agents.get(ref)).state
    const fail = async () => {
      await clock.until(async () => (await stateOf()).kind === 'running', { maxMs: 120_000 })
      runtime.exit(bot.id, 'segfault')
      await clock.advance(0)
    }
    return { ...fakes, stateOf, fail }
  }
  const failTenTimes = async () => {
    const fakes = await failing()
    for (let n = 0; n < 10; n++) await fakes.fail()
    return fakes
  }

  it('is not retried after ten failures, has an error that says so, and refuses messages without Retry-After', async () => {
    const { runtime, clock, stateOf, send } = await failTenTimes()
    const message = 'segfault; stopped after 10 failures in a row: start it to try again'
    const given = { kind: 'error', lastError: { code: 'RUNTIME_EXITED', message }, failures: 10 }
    expect(await stateOf()).toEqual(given)
    await clock.advance(3_600_000)
    expect(await stateOf()).toEqual(given)
    expect(runtime.starts).toHaveLength(10)
    expect(await refusalOf(send())).toEqual({ kind: 'agent_not_running', state: 'error' })
  })
  it('is not retried by the next server either, until a person starts it, which allows ten more tries', async () => {
    const { service, another, clock, stateOf, fail, runtime, ref, bot } = await failTenTimes()
    await service.stop()
    const next = another()
    await next.start()
    await clock.advance(600_000)
    expect(runtime.starts).toHaveLength(10)
    expect((await next.agents.start(ref)).state.kind).toBe('running')
    for (let n = 0; n < 9; n++) await fail()
    expect(await stateOf()).toMatchObject({
      kind: 'error',
      failures: 9,
      retryAt: expect.any(Number) as number,
    })
    await fail()
    expect(await stateOf()).toMatchObject({ failures: 10 })
    expect(runtime.starts.every(({ agent }) => agent.id === bot.id)).toBe(true)
  })
  it('keeps its count of failures across a restart of the server', async () => {
    const { service, another, clock, fail, stateOf } = await failing()
    for (let n = 0; n < 6; n++) await fail()
    await service.stop()
    await another().start()
    for (let n = 0; n < 4; n++) await fail()
    expect(await stateOf()).toMatchObject({ failures: 10 })
    await clock.advance(600_000)
    expect((await stateOf()).kind).toBe('error')
  })
  it('returns the time of its next try while it is retried', async () => {
    const { fail, send, clock } = await failing()
    await fail()
    await fail()
    expect(await refusalOf(send())).toMatchObject({
      kind: 'agent_not_running',
      state: 'error',
      retryInMs: 5_000,
    })
    await clock.advance(2_000)
    expect(await refusalOf(send())).toMatchObject({ retryInMs: 3_000 })
  })
  it('is started at once by a person', async () => {
    const { fail, service, ref } = await failing()
    for (let n = 0; n < 3; n++) await fail()
    expect((await service.agents.start(ref)).state.kind).toBe('running')
  })
})

describe('two services on one store', () => {
  it('send one event for each change of an agent', async () => {
    const { service, another, ref, bot, hook, deliveries, runtime, clock, post } = await scene()
    const beside = another()
    await beside.start()
    await hook()
    const stateOf = async () => (await service.agents.get(ref)).state.kind
    expect(runtime.starts).toHaveLength(2) // each has its own

    runtime.exit(bot.id)
    await clock.until(async () => (await stateOf()) === 'running')
    await clock.advance(5_000)
    await beside.agents.stop(ref)
    await clock.until(async () => (await stateOf()) === 'stopped')
    await clock.advance(5_000)
    await service.agents.start(ref)
    await clock.until(async () => (await stateOf()) === 'running')
    await clock.advance(5_000)
    expect(eventsOf(await deliveries())).toEqual([
      'agent.error',
      'agent.started',
      'agent.stopped',
      'agent.started',
    ])
    const { id } = await post()
    expect(runtime.openRuns).toEqual([id])
  })
  it('run an agent with its new settings in every process, also in one that missed the stop', async () => {
    const { another, service, ref, runtime, clock } = await scene()
    await another().start()
    expect(runtime.starts).toHaveLength(2)
    await service.agents.stop(ref)
    await service.agents.update({ ...ref, change: { runtime: { kind: 'fake', model: 'new' } } })
    await service.agents.start(ref)
    await clock.advance(1_000)
    expect(runtime.starts.slice(2).map(({ agent }) => agent.runtime.options)).toEqual([
      { model: 'new' },
      { model: 'new' },
    ])
    await clock.advance(5_000)
    expect(runtime.starts).toHaveLength(4)
  })

  it('start a failed agent one after the other when both start', async () => {
    const { service, another, runtime, ref, hook, deliveries } = await scene()
    await hook()
    await service.stop()
    await Promise.all([another().start(), another().start()])
    expect(runtime.starts).toHaveLength(3)
    expect((await service.agents.get(ref)).state.kind).toBe('running')
    expect(await deliveries()).toEqual([])
  })
})

describe('a process that lacks the handler of an agent', () => {
  /** `bot` runs in a first process. A second process has the handler of `bot` or lacks it. */
  const processes = async () => {
    const fakes = await scene()
    const stateOf = async () => (await fakes.service.agents.get(fakes.ref)).state
    const lacking = fakeRuntime({ has: () => false })
    lacking.failStart('no handler')
    const without = (alone?: boolean) => {
      const storage = { ...fakes.storage.reopen(), ...(alone !== undefined && { alone }) }
      return createService({ ...fakes, storage, runtimes: [lacking] })
    }
    return { ...fakes, stateOf, without, lacking }
  }

  it('leaves the agent to another process that runs it', async () => {
    const { without, clock, stateOf, runtime } = await processes()
    await without(false).start()
    await clock.advance(600_000)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    expect(runtime.starts).toHaveLength(1)
  })
  it('stores the reason if no other process is there, and leaves the retry to a process with the handler', async () => {
    const { service, without, another, clock, stateOf, runtime, lacking } = await processes()
    await service.stop()
    const alone = without(true)
    await alone.start()
    expect(await stateOf()).toMatchObject({
      kind: 'error',
      failures: 1,
      lastError: { message: 'no handler' },
    })
    await clock.advance(600_000)
    expect(await stateOf()).toMatchObject({ kind: 'error', failures: 1 })
    expect(lacking.starts).toHaveLength(1)
    await another().start()
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    await clock.advance(600_000)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    expect(runtime.starts).toHaveLength(2)
  })
})

describe('an agent that failed in an earlier process', () => {
  it('is retried at once by the next process, and then on its schedule', async () => {
    const { service, another, clock, runtime, bot, ref } = await scene()
    const stateOf = async () => (await service.agents.get(ref)).state
    for (let n = 0; n < 3; n++) {
      await clock.until(async () => (await stateOf()).kind === 'running', { maxMs: 120_000 })
      runtime.exit(bot.id)
      await clock.advance(0)
    }
    await service.stop()
    runtime.failStart('still no handler')
    const next = another()
    await next.start()
    expect(await stateOf()).toMatchObject({
      kind: 'error',
      failures: 4,
      lastError: { message: 'still no handler' },
    })
    await clock.advance(50_000)
    expect(await stateOf()).toMatchObject({ failures: 4 })
    await next.stop()
    await another().start()
    expect(await stateOf()).toMatchObject({ kind: 'running' })
  })
})
