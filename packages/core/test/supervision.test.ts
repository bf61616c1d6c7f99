import { describe, expect, it } from 'vitest'
import type { AgentState, RunningAgent } from '@org/agent-messaging-core'
import { scene } from './scene.js'

type Health = Awaited<ReturnType<RunningAgent['health']>>

/** A running agent whose health the test decides; `asked` counts how often it was asked. */
async function withHealth(options: Parameters<typeof scene>[0] = {}) {
  const fakes = await scene({ ...options, idle: true })
  const { runtime, service, ref } = fakes
  const ward = { asked: 0, health: (): Health | Promise<Health> => ({ ok: true }) }
  const { start } = runtime
  Object.assign(runtime, {
    start: (...args: Parameters<typeof start>) =>
      start(...args).then((started) =>
        started.map((running) => ({
          ...running,
          health: async () => {
            ward.asked++
            return ward.health()
          },
        })),
      ),
  })
  await service.agents.stop(ref)
  await service.agents.start(ref)
  await service.start()
  return { ...fakes, ward, stateOf: async () => (await service.agents.get(ref))._unsafeUnwrap().state }
}

const eventsOf = (deliveries: readonly { body: string }[]) => deliveries.map(({ body }) => (JSON.parse(body) as { event: string }).event)

describe('an agent that runs', () => {
  it('is asked how it is every 30 s', async () => {
    const { ward, clock } = await withHealth()
    await clock.advance(29_000)
    expect(ward.asked).toBe(0)
    await clock.advance(62_000)
    expect(ward.asked).toBe(3)
  })
  it.each<[string, () => Health | Promise<Health>, string]>([
    ['says that it is not well', () => ({ ok: false, detail: 'no disk' }), 'no disk'],
    ['does not say why', () => ({ ok: false }), 'it does not say why'],
    ['throws', () => Promise.reject(new Error('a bug')), 'Error: a bug'],
    ['says nothing', () => new Promise(() => {}), 'no answer within 5000 ms'],
    ['says what cannot be stored', () => ({ ok: false, detail: 'a\0b' }), 'it says why in text that cannot be stored'],
    ['says much', () => ({ ok: false, detail: 'x'.repeat(5_000) }), 'x'.repeat(500)],
  ])('is in error when it %s three times in a row', async (_, health, why) => {
    const { ward, clock, stateOf } = await withHealth()
    ward.health = health
    await clock.advance(89_000)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    await clock.until(async () => (await stateOf()).kind === 'error')
    expect(await stateOf()).toMatchObject({
      lastError: { code: 'RUNTIME_UNHEALTHY', message: `not well 3 times in a row: ${why}` },
      failures: 1,
      retryAt: expect.any(Number) as number,
    })
  })
  it('is well again by one good word', async () => {
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

  it('takes no runs, keeps what waits for it, and goes on when it is well: nothing is lost and no attempt is spent', async () => {
    const { ward, clock, stateOf, post, runtime, state, hook, deliveries, service } = await sick()
    await hook()
    const [first, second] = [await post('under way'), await post('waits')]
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    runtime.answer(first.id, 'ended well all the same')
    await clock.advance(600_000)
    expect(await state(first.id)).toMatchObject({ kind: 'responded' })
    expect(await state(second.id)).toMatchObject({ kind: 'queued' })
    expect(await stateOf()).toMatchObject({ kind: 'error', lastError: { message: 'still not well: down' } })
    ward.health = () => ({ ok: true })
    await clock.until(() => runtime.openRuns.includes(second.id), { maxMs: 120_000 })
    expect(runtime.requests.at(-1)).toMatchObject({ messageId: second.id, attempt: 1 })
    expect(eventsOf(await deliveries()).filter((event) => event === 'agent.started')).toHaveLength(1)
    const stopping = service.stop({ graceMs: 0 })
    await clock.advance(5_000)
    await stopping
    expect(clock.sleepers).toBe(0)
  })
  it('is not given up, however long it lasts', async () => {
    const { clock, stateOf } = await sick()
    await clock.advance(3_600_000)
    const state = (await stateOf()) as AgentState & { kind: 'error' }
    expect(state.failures).toBeGreaterThan(20)
    expect(state.retryAt).toBeDefined()
  })
  it('is not asked after the stop, and what it says then changes nothing', async () => {
    const { ward, clock, stateOf, service } = await sick()
    await clock.advance(89_000)
    ward.health = () => new Promise(() => {})
    await clock.advance(1_500)
    await service.stop()
    await clock.advance(10_000)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    expect(clock.sleepers).toBe(0)
  })
  it('and is stopped and started meanwhile is not blamed for what was', async () => {
    const { ward, clock, stateOf, service, ref } = await sick()
    await clock.advance(89_000)
    let say = (_: Health): void => undefined
    ward.health = () => new Promise((resolve) => (say = resolve))
    await clock.advance(1_500)
    ward.health = () => ({ ok: true })
    await service.agents.stop(ref)
    await service.agents.start(ref)
    say({ ok: false })
    await clock.advance(10_000)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
  })
  it('is started by a person only if it is well', async () => {
    const { ward, clock, stateOf, service, ref } = await sick()
    await clock.until(async () => (await stateOf()).kind === 'error', { maxMs: 120_000 })
    expect((await service.agents.start(ref))._unsafeUnwrap().state).toMatchObject({ kind: 'error', failures: 2 })
    ward.health = () => ({ ok: true })
    expect((await service.agents.start(ref))._unsafeUnwrap().state).toMatchObject({ kind: 'running' })
  })
})

describe('an agent that fails again and again', () => {
  const failing = async () => {
    const fakes = await scene()
    const { clock, runtime, bot, service, ref } = fakes
    const stateOf = async () => (await service.agents.get(ref))._unsafeUnwrap().state
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

  it('is left alone after ten times, says so, and refuses messages without a promise', async () => {
    const { runtime, clock, stateOf, send } = await failTenTimes()
    const message = 'segfault; stopped after 10 failures in a row: start it to try again'
    const given = { kind: 'error', lastError: { code: 'RUNTIME_EXITED', message }, failures: 10 }
    expect(await stateOf()).toEqual(given)
    await clock.advance(3_600_000)
    expect(await stateOf()).toEqual(given)
    expect(runtime.starts).toHaveLength(10)
    expect((await send())._unsafeUnwrapErr()).toEqual({ kind: 'agent_not_running', state: 'error' })
  })
  it('is left alone by the next server too, until a person starts it: then it has ten tries again', async () => {
    const { service, another, clock, stateOf, fail, runtime, ref, bot } = await failTenTimes()
    await service.stop()
    const next = another()
    await next.start()
    await clock.advance(600_000)
    expect(runtime.starts).toHaveLength(10)
    expect((await next.agents.start(ref))._unsafeUnwrap().state.kind).toBe('running')
    for (let n = 0; n < 9; n++) await fail()
    expect(await stateOf()).toMatchObject({ kind: 'error', failures: 9, retryAt: expect.any(Number) as number })
    await fail()
    expect(await stateOf()).toMatchObject({ failures: 10 })
    expect(runtime.starts.every(({ agent }) => agent.id === bot.id)).toBe(true)
  })
  it('has its failures counted over the end of a server', async () => {
    const { service, another, clock, fail, stateOf } = await failing()
    for (let n = 0; n < 6; n++) await fail()
    await service.stop()
    await another().start()
    for (let n = 0; n < 4; n++) await fail()
    expect(await stateOf()).toMatchObject({ failures: 10 })
    await clock.advance(600_000)
    expect((await stateOf()).kind).toBe('error')
  })
  it('says when to ask again while it is still tried', async () => {
    const { fail, send, clock } = await failing()
    await fail()
    await fail()
    expect((await send())._unsafeUnwrapErr()).toMatchObject({ kind: 'agent_not_running', state: 'error', retryInMs: 5_000 })
    await clock.advance(2_000)
    expect((await send())._unsafeUnwrapErr()).toMatchObject({ retryInMs: 3_000 })
  })
  it('is started at once by a person', async () => {
    const { fail, service, ref } = await failing()
    for (let n = 0; n < 3; n++) await fail()
    expect((await service.agents.start(ref))._unsafeUnwrap().state.kind).toBe('running')
  })
})

describe('two services on one store', () => {
  it('report each change of an agent once', async () => {
    const { service, another, ref, bot, hook, deliveries, runtime, clock, post } = await scene()
    const beside = another()
    await beside.start()
    await hook()
    const stateOf = async () => (await service.agents.get(ref))._unsafeUnwrap().state.kind
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
    expect(eventsOf(await deliveries())).toEqual(['agent.error', 'agent.started', 'agent.stopped', 'agent.started'])
    const { id } = await post()
    expect(runtime.openRuns).toEqual([id])
  })
  it('start again, each in its turn, what should run when a server starts', async () => {
    const { service, another, runtime, ref, hook, deliveries } = await scene()
    await hook()
    await service.stop()
    await Promise.all([another().start(), another().start()])
    expect(runtime.starts).toHaveLength(3)
    expect((await service.agents.get(ref))._unsafeUnwrap().state.kind).toBe('running')
    expect(await deliveries()).toEqual([])
  })
})
