import { refusalOf } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

/** An agent that fails each message until it is repaired, and `count` failed messages. */
async function afterFailures(count: number, maxQueued = 100) {
  let isRepaired = false
  const made = await scene({
    agent: { maxAttempts: 1, maxQueued },
    handler: ({ message }) =>
      isRepaired
        ? { kind: 'answered', response: message }
        : { kind: 'failed', retryable: false, error: { code: 'RUNTIME_ERROR', message: 'broken' } },
  })
  const { service, ref, clock, post } = made
  for (let n = 0; n < count; n++) {
    await post(String(n))
    await clock.advance(0)
  }
  const read = async (recoveryId: string) =>
    await service.recoveries.get({ projectId: ref.projectId, recoveryId })
  const repair = () => {
    isRepaired = true
  }
  return { ...made, read, repair }
}

describe('the failed messages of an agent', () => {
  it('are retried by a task, in their order, with an entry in the audit log', async () => {
    const { service, ref, bot, clock, runtime, read, repair } = await afterFailures(5)
    repair()
    const before = runtime.requests.length
    const started = await service.messages.retryFailed({
      ...ref,
      errorCode: 'RUNTIME_ERROR',
      createdAfter: 0,
    })
    expect(started).toMatchObject({
      state: { kind: 'running' },
      filter: { agentId: bot.id, status: 'failed', errorCode: 'RUNTIME_ERROR', createdAfter: 0 },
    })
    await clock.advance(0)
    expect(await read(started.id)).toMatchObject({
      state: { kind: 'done' },
      ...{ matched: 5, redelivered: 5, delivered: 5 },
    })
    expect(runtime.requests.slice(before).map(({ message }) => message)).toEqual([
      ...['0', '1', '2', '3', '4'],
    ])
    const { data } = await service.auditLog.list({ targetId: started.id })
    expect(data).toMatchObject([{ action: 'recovery.started' }])
  })

  it('wait for room in their session, and are all answered', async () => {
    const { service, ref, clock, read, repair } = await afterFailures(5, 1)
    repair()
    const { id } = await service.messages.retryFailed(ref)
    await clock.advance(60_000)
    expect(await read(id)).toMatchObject({ state: { kind: 'done' }, delivered: 5 })
  })

  it('are retried by another process after a crash', async () => {
    const { service, ref, clock, read, repair, another } = await afterFailures(3)
    await service.stop()
    repair()
    const { id } = await service.messages.retryFailed(ref)
    const other = another()
    await other.start()
    await clock.advance(60_000)
    expect(await read(id)).toMatchObject({ state: { kind: 'done' }, delivered: 3 })
    await other.stop()
  })

  it('are not retried for an unknown agent or a wrong filter', async () => {
    const { service, ref } = await afterFailures(0)
    const refused = async (more: object) =>
      await refusalOf(service.messages.retryFailed({ ...ref, ...more }))
    expect(await refused({ agent: 'nobody' })).toMatchObject({ kind: 'agent_not_found' })
    expect(await refused({ errorCode: 'LOST' })).toMatchObject({ issues: [{ path: 'errorCode' }] })
  })
})
