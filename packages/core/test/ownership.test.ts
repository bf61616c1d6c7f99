import { createService } from '@org/agent-messaging-core'
import { fakePlatform, fakeRuntime } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'

const LEASE_MS = 30_000

/**
 * Two processes on one storage, each with its runtime, and one running agent, `bot`.
 * The first process has the agent.
 */
async function twoProcesses({ exclusive = true } = {}) {
  const first = fakePlatform({ exclusive })
  const storage = first.storage.reopen()
  const { runtime, runtimes, ids, telemetry } = fakePlatform({ exclusive })
  const second = {
    ...first,
    storage,
    runtime,
    runtimes,
    telemetry,
    ids: { next: () => `second-${ids.next()}` },
  }
  const services = [createService(first), createService(second)] as const
  const { id: projectId } = await services[0].projects.create({ name: 'test' })
  await services[0].start()
  await services[0].agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
  })
  await services[1].start()
  const ref = { projectId, agent: 'bot' }
  const post = async (n: 0 | 1) =>
    (await services[n].messages.send({ ...ref, sessionId: 's', message: 'hi', waitMs: 0 })).message
  return { ...{ one: first, other: second, services, ref, post, clock: first.clock } }
}

describe('an agent that keeps state in its process', () => {
  it('runs in one process, also if other processes accept its messages', async () => {
    const { one, other, post, clock } = await twoProcesses()
    const { id } = await post(1)
    await clock.advance(500)
    expect(one.runtime.openRuns).toEqual([id])
    await clock.advance(10 * LEASE_MS)
    expect([one.runtime.starts.length, other.runtime.starts.length]).toEqual([1, 0])
  })

  it('moves at once when its process stops', async () => {
    const { one, other, services, post, clock } = await twoProcesses()
    const { id } = await post(0)
    one.runtime.answer(id, 'done')
    const stopping = services[0].stop({ graceMs: 0 })
    await clock.advance(2_000)
    await stopping
    expect(other.runtime.starts).toHaveLength(1)
    const { id: next } = await post(1)
    expect(other.runtime.openRuns).toEqual([next])
  })

  it('moves after the lease when its process dies, and then stays', async () => {
    const { one, other, services, ref, clock } = await twoProcesses()
    await clock.advance(LEASE_MS)
    // The other process sees the first one hang.
    one.storage.fail('agents.own', { times: Infinity })
    await clock.advance(LEASE_MS - 11_000) // The lease was extended 10 s ago at most.
    expect(other.runtime.starts).toHaveLength(0)
    await clock.advance(22_000)
    expect(other.runtime.starts).toHaveLength(1)
    one.storage.fail('agents.own', { times: 0 })
    await clock.advance(LEASE_MS)
    const { message } = await services[0].messages.send({
      ...ref,
      sessionId: 't',
      message: 'hi',
      waitMs: 0,
    })
    await clock.advance(500)
    expect(other.runtime.openRuns).toEqual([message.id])
    expect(one.runtime.openRuns).toEqual([])
  })

  it('is stopped and started by its owner when another process receives the call', async () => {
    const { one, other, services, ref, clock } = await twoProcesses()
    await services[1].agents.stop(ref)
    await clock.advance(1_000)
    expect((await services[1].agents.get(ref)).state.kind).toBe('stopped')
    await services[1].agents.start(ref)
    await clock.advance(1_000)
    expect((await services[1].agents.get(ref)).state.kind).toBe('running')
    expect(one.runtime.starts.length + other.runtime.starts.length).toBe(2)
  })

  it('stays in its process when the clock is set back', async () => {
    const { one, other, clock } = await twoProcesses()
    clock.set(clock.now() - 100 * LEASE_MS)
    await clock.advance(3 * LEASE_MS)
    expect([one.runtime.starts.length, other.runtime.starts.length]).toEqual([1, 0])
  })

  it('moves after the lease by the new time when its process dies after the clock was set back', async () => {
    const { one, other, clock } = await twoProcesses()
    await clock.advance(LEASE_MS)
    clock.set(clock.now() - 100 * LEASE_MS)
    await clock.advance(LEASE_MS)
    one.storage.fail('agents.own', { times: Infinity })
    await clock.advance(2 * LEASE_MS)
    expect(other.runtime.starts).toHaveLength(1)
  })
})

describe('an agent that keeps state in its process, in a process that lacks its program', () => {
  /**
   * Two processes, a third one that lacks the program, and a function that makes later
   * processes, with the program or without.
   */
  const withAndWithout = async () => {
    const processes = await twoProcesses()
    const lacking = fakeRuntime({ exclusive: true, has: () => false })
    const process = (name: string, runtime = fakeRuntime({ exclusive: true })) => {
      const ids = { next: () => `${name}-${processes.one.ids.next()}` }
      return {
        runtime,
        service: createService({
          ...processes.one,
          storage: processes.one.storage.reopen(),
          ids,
          runtimes: [runtime],
        }),
      }
    }
    const stateOf = async () => (await processes.services[0].agents.get(processes.ref)).state
    const end = async () => {
      const stopping = processes.services.map((service) => service.stop({ graceMs: 0 }))
      await processes.clock.advance(2_000)
      await Promise.all(stopping)
    }
    return { ...processes, lacking, process, stateOf, end }
  }

  it('waits for a process that has the program', async () => {
    const { lacking, process, stateOf, end, clock } = await withAndWithout()
    await end()
    await process('lacking', lacking).service.start()
    await clock.advance(10 * LEASE_MS)
    const { runtime, service } = process('having')
    await service.start()
    expect(runtime.starts).toHaveLength(1)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
  })

  it('is left to the process that made it, even if that process is slow', async () => {
    const { services, ref, lacking, process, one, clock } = await withAndWithout()
    const stopping = services[1].stop({ graceMs: 0 })
    await clock.advance(2_000)
    await stopping
    await process('lacking', lacking).service.start()
    const { own } = one.storage.agents
    let claim: () => void = () => undefined
    const slow = new Promise<void>((resolve) => (claim = resolve))
    one.storage.agents.own = (request) => slow.then(() => own(request))
    const creating = services[0].agents.create({
      ...{ projectId: ref.projectId, name: 'new', desiredState: 'running' },
      runtime: { kind: 'fake' },
    })
    await clock.advance(3_000)
    expect(lacking.starts).toEqual([])
    claim()
    await creating
    const made = await services[0].agents.get({ ...ref, agent: 'new' })
    expect(made.state).toMatchObject({ kind: 'running' })
  })

  it('is in error after a failed start, until a process has the program', async () => {
    const { services, ref, lacking, process, stateOf, end, clock } = await withAndWithout()
    await services[0].agents.stop(ref)
    await end()
    const { service } = process('lacking', lacking)
    await service.start()
    lacking.failStart('no program')
    expect((await service.agents.start(ref)).state).toMatchObject({
      kind: 'error',
      lastError: { message: 'no program' },
    })
    await clock.advance(10 * LEASE_MS)
    expect(lacking.starts).toHaveLength(1)
    const having = process('having')
    await having.service.start()
    expect(having.runtime.starts).toHaveLength(1)
    await clock.advance(10 * LEASE_MS)
    expect(await stateOf()).toMatchObject({ kind: 'running' })
    expect(having.runtime.starts).toHaveLength(1)
  })

  it('is neither stopped nor checked there while another process owns it', async () => {
    const { services, ref, lacking, process, stateOf, clock, one, post } = await withAndWithout()
    const { id } = await post(0)
    await process('lacking', lacking).service.start()
    const stopping = services[0].agents.stop(ref)
    await clock.advance(5_000)
    expect((await stopping).state).toEqual({ kind: 'stopping' })
    one.runtime.answer(id, 'done')
    await clock.advance(0)
    expect(await stateOf()).toEqual({ kind: 'stopped' })
  })
})

it('a new agent is not started by a process without its program, also if it runs in every process', async () => {
  const { one, services, ref, clock } = await twoProcesses({ exclusive: false })
  const stopping = services.map((service) => service.stop({ graceMs: 0 }))
  await clock.advance(2_000)
  await Promise.all(stopping)
  const lacking = fakeRuntime({ has: () => false })
  const reopened = (runtime: typeof lacking) =>
    createService({ ...one, storage: one.storage.reopen(), runtimes: [runtime] })
  await reopened(lacking).start()
  const having = reopened(fakeRuntime())
  await having.agents.create({
    ...{ projectId: ref.projectId, name: 'new', desiredState: 'running' },
    runtime: { kind: 'fake' },
  })
  await clock.advance(3_000)
  expect(lacking.starts.map(({ agent }) => agent.name)).not.toContain('new')
  await having.start()
  const made = await having.agents.get({ ...ref, agent: 'new' })
  expect(made.state).toMatchObject({ kind: 'running' })
})

it('an agent whose runtime is not exclusive runs in every process', async () => {
  const { one, other } = await twoProcesses({ exclusive: false })
  expect([one.runtime.starts.length, other.runtime.starts.length]).toEqual([1, 1])
})
