import { describe, expect, it } from 'vitest'
import { refused, refusalOf } from '@org/agent-messaging-testing'
import { scene } from './scene.js'

const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const policy = { retry: { delaysMs: [], jitter: 0, maxRetryAfterMs: 0 } }

/** A webhook with one delivered and `failures` exhausted deliveries. */
async function afterFailures(failures: number, idle = false) {
  const fakes = await scene({ ...echo, policy, idle })
  const { webhook } = await fakes.hook()
  const work = (): Promise<unknown> =>
    idle ? fakes.service.tick({ budgetMs: 1_000 }) : fakes.clock.advance(0)
  fakes.sender.script(...Array.from({ length: failures }, () => refused(500)))
  for (let n = 0; n <= failures; n++) await fakes.post(String(n), { sessionId: `s${n}` })
  await work()
  const projectId = fakes.project.id
  const stored = async (recoveryId: string) =>
    await fakes.service.recoveries.get({ projectId, recoveryId })
  return { ...fakes, webhook, projectId, work, stored }
}

describe('a recovery', () => {
  it('starts at once, and redelivers what is exhausted unless told otherwise', async () => {
    const { service, projectId, webhook, sender, clock, stored, telemetry } = await afterFailures(3)
    const started = await service.recoveries.start({
      projectId,
      filter: { webhookId: webhook.id },
    })
    expect(started).toMatchObject({ state: { kind: 'running' }, matched: 0, waiting: 0 })
    expect(sender.requests).toHaveLength(4)
    await clock.advance(0)
    expect(sender.requests).toHaveLength(7)
    const { id } = started
    expect(await stored(id)).toEqual({
      id,
      projectId,
      filter: { webhookId: webhook.id, status: 'exhausted', createdBefore: clock.now() + 1 },
      state: { kind: 'done', finishedAt: clock.now() },
      matched: 3,
      redelivered: 3,
      waiting: 0,
      failing: 0,
      delivered: 3,
      exhausted: 0,
      cancelled: 0,
      createdAt: clock.now(),
    })
    await clock.advance(5_000) // until the next look
    expect(telemetry.named('recovery.finished')).toMatchObject([
      { recoveryId: id, state: 'done', matched: 3, redelivered: 3, delivered: 3 },
    ])
    const all = await service.recoveries.start({ projectId, filter: { status: 'delivered' } })
    await clock.advance(0)
    expect(await stored(all.id)).toMatchObject({ matched: 4, redelivered: 4 })
  })

  it('refuses a filter that matches no delivery', async () => {
    const { service, projectId } = await afterFailures(1)
    const filter = { status: 'lost' as never, webhookId: 'mine' }
    expect(await refusalOf(service.recoveries.start({ projectId, filter }))).toMatchObject({
      kind: 'invalid',
      issues: [{ path: 'status' }, { path: 'webhookId' }],
    })
  })

  it('is continued by another process after a crash, or in a pass', async () => {
    const { service, projectId, another, stored, clock } = await afterFailures(2)
    await service.stop()
    const { id } = await service.recoveries.start({ projectId })
    await clock.advance(60_000)
    expect(await stored(id)).toMatchObject({ state: { kind: 'running' }, matched: 0 })
    await another().tick({ budgetMs: 1 })
    expect(await stored(id)).toMatchObject({ state: { kind: 'done' }, matched: 2 })
  })

  it('is done by a process that hears of it at its next look', async () => {
    const { service, projectId, another, stored, clock } = await afterFailures(2)
    await service.stop()
    const other = another()
    await other.start()
    const { id } = await service.recoveries.start({ projectId })
    await clock.advance(5_000)
    expect(await stored(id)).toMatchObject({ state: { kind: 'done' }, matched: 2 })
    await other.stop()
  })

  it('sends until its deliveries have ended, and ends then', async () => {
    const { service, projectId, sender, stored, clock, telemetry } = await afterFailures(2)
    const { webhook } = await service.webhooks.create({
      projectId,
      url: 'https://other.example/',
      events: ['*'],
    })
    await service.webhooks.update({
      projectId,
      webhookId: webhook.id,
      change: { retrySchedule: [60_000] },
    })
    sender.script(refused(500), refused(500))
    await service.webhooks.sendTestEvent({ projectId, webhookId: webhook.id })
    await clock.advance(40) // until the attempt is stored
    const { id } = await service.recoveries.start({ projectId, filter: { status: 'pending' } })
    await clock.advance(40)
    const sending = { state: { kind: 'sending' }, redelivered: 1, failing: 1, delivered: 0 }
    expect(await stored(id)).toMatchObject(sending)
    await clock.advance(5_000)
    expect(await stored(id)).toMatchObject(sending)
    expect(telemetry.named('recovery.finished')).toEqual([])
    await clock.advance(120_000)
    expect(await stored(id)).toMatchObject({ state: { kind: 'done' }, failing: 0, delivered: 1 })
    expect(telemetry.named('recovery.finished')).toMatchObject([{ recoveryId: id, delivered: 1 }])
  })

  it('tries one first, and asks if the receiver does not accept it', async () => {
    const { service, projectId, sender, stored, clock } = await afterFailures(3)
    const sent = sender.requests.length
    sender.script(refused(500))
    const { id } = await service.recoveries.start({ projectId, tryFirst: true })
    await clock.advance(1_000)
    expect(await stored(id)).toMatchObject({
      state: { kind: 'paused' },
      tried: { outcome: { kind: 'refused', statusCode: 500 } },
    })
    expect(sender.requests).toHaveLength(sent + 1)
    const ref = { projectId, recoveryId: id }
    await service.recoveries.continue(ref)
    await clock.advance(1_000)
    expect(await stored(id)).toMatchObject({
      state: { kind: 'done' },
      delivered: 2,
      exhausted: 1,
    })
    expect((await refusalOf(service.recoveries.continue(ref))).kind).toBe('recovery_not_paused')
    const again = await service.recoveries.start({ projectId, tryFirst: true })
    await clock.advance(1_000)
    expect(await stored(again.id)).toMatchObject({ state: { kind: 'done' }, delivered: 1 })
  })

  it('tries one and sends the others in one pass', async () => {
    const { service, projectId, stored, work } = await afterFailures(3, true)
    const { id } = await service.recoveries.start({ projectId, tryFirst: true })
    await work()
    expect(await stored(id)).toMatchObject({ state: { kind: 'done' }, delivered: 3 })
  })

  it('pauses in one pass, and ends if nobody decides within the retention', async () => {
    const { service, projectId, stored, work, sender, clock } = await afterFailures(3, true)
    sender.script(refused(500))
    const { id } = await service.recoveries.start({ projectId, tryFirst: true })
    await work()
    expect(await stored(id)).toMatchObject({ state: { kind: 'paused' }, exhausted: 1 })
    await clock.advance(30 * 86_400_000)
    await work()
    expect(await stored(id)).toMatchObject({ state: { kind: 'paused' } })
    await clock.advance(1)
    await work()
    expect(await stored(id)).toMatchObject({
      state: { kind: 'cancelled', finishedAt: clock.now() },
    })
  })

  it('shows the attempt that paused it, also after a later one was accepted', async () => {
    const { service, projectId, sender, stored, clock } = await afterFailures(2)
    sender.script(refused(503))
    const { id } = await service.recoveries.start({ projectId, tryFirst: true })
    await clock.advance(1_000)
    const { triedDeliveryId: deliveryId = '' } = await stored(id)
    await service.deliveries.redeliver({ projectId, deliveryId })
    await clock.advance(1_000)
    expect(await stored(id)).toMatchObject({
      state: { kind: 'paused' },
      delivered: 1,
      tried: { attemptNumber: 2, outcome: { kind: 'refused', statusCode: 503 } },
    })
  })

  it('continues after the storage was away', async () => {
    const { service, projectId, storage, stored, clock, telemetry } = await afterFailures(1)
    storage.fail('recoveries.advance', { times: 2 })
    const { id } = await service.recoveries.start({ projectId })
    await clock.advance(4_000)
    expect(await stored(id)).toMatchObject({ state: { kind: 'running' } })
    await clock.advance(10_000)
    expect(await stored(id)).toMatchObject({ state: { kind: 'done' }, redelivered: 1 })
    expect(telemetry.named('store.unavailable')).toHaveLength(2)
  })

  it('ends when it is cancelled, and only then', async () => {
    const { service, projectId, stored } = await afterFailures(1, true)
    const { id: recoveryId } = await service.recoveries.start({ projectId })
    const ref = { projectId, recoveryId }
    expect((await service.recoveries.cancel(ref)).state.kind).toBe('cancelled')
    expect((await refusalOf(service.recoveries.cancel(ref))).kind).toBe('recovery_final')
    await service.tick({ budgetMs: 1 })
    expect(await stored(recoveryId)).toMatchObject({ state: { kind: 'cancelled' }, matched: 0 })
    const nothing = { projectId, recoveryId: projectId }
    expect((await refusalOf(service.recoveries.cancel(nothing))).kind).toBe('recovery_not_found')
  })

  it('is refused for a webhook that is not there, and beside too many others', async () => {
    const { service, projectId } = await afterFailures(1, true)
    const filter = { webhookId: projectId }
    const start = () => service.recoveries.start({ projectId })
    expect((await refusalOf(service.recoveries.start({ projectId, filter }))).kind).toBe(
      'webhook_not_found',
    )
    for (let n = 0; n < 20; n++) await start()
    expect((await refusalOf(start())).kind).toBe('too_many_recoveries')
  })

  it('stays with its project, even if the filter names another', async () => {
    const { service, projectId, stored } = await afterFailures(1, true)
    const { id: other } = await service.projects.create({ name: 'other' })
    const filter = { projectId } as object
    const { id } = await service.recoveries.start({ projectId: other, filter })
    await service.tick({ budgetMs: 1 })
    expect(await service.recoveries.get({ projectId: other, recoveryId: id })).toMatchObject({
      state: { kind: 'done' },
      matched: 0,
    })
    await expect(stored(id)).rejects.toThrow()
  })

  it('is deleted with the deliveries of its time', async () => {
    const { service, projectId, clock } = await afterFailures(1, true)
    await service.recoveries.start({ projectId })
    await service.tick({ budgetMs: 1 })
    await clock.advance(31 * 86_400_000)
    await service.tick({ budgetMs: 1 })
    await service.tick({ budgetMs: 1 })
    expect((await service.recoveries.list({ projectId, limit: 9 })).data).toEqual([])
  })
})
