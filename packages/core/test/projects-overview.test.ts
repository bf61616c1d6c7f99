import { success } from '@org/agent-messaging-core/runtime'
import { HOLD_CAUSES } from '@org/agent-messaging-core/host'
import { refusalOf } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { scene } from './scene.js'

const DAY_MS = 86_400_000

/** A project whose webhook is disabled, between two others. */
async function open() {
  const s = await scene({
    handler: ({ message }) => ({
      kind: 'answered',
      response: message,
      usage: { inputTokens: 2, outputTokens: 3 },
    }),
  })
  const { service, hook, send, clock } = s
  const [early, late] = [
    await service.projects.create({ name: 'early' }),
    await service.projects.create({ name: 'late' }),
  ]
  const webhook = await hook()
  await send('hello')
  await clock.advance(1_000)
  const jump = async (days: number) => {
    clock.set(clock.now() + days * DAY_MS)
    service.host.now()
    await clock.advance(0)
  }
  return { ...s, early, late, webhook, jump }
}

it('the overview has the usage of 30 days, and no open work of an idle project', async () => {
  const { service, project, jump, send } = await open()
  const overview = async () => {
    const { data } = await service.projects.overview()
    return data.find(({ id }) => id === project.id)
  }
  expect(await overview()).toEqual({
    ...(await service.projects.get({ projectId: project.id })),
    openMessages: 0,
    openDeliveries: 0,
    heldDeliveries: 0,
    failingWebhooks: 0,
    usage: expect.objectContaining({ messages: 1, inputTokens: 2, outputTokens: 3, delivered: 1 }),
  })
  await jump(29)
  await send('again')
  expect((await overview())?.usage.messages).toBe(2)
  await jump(1)
  expect((await overview())?.usage.messages).toBe(1)
})

it('the overview has the work that waits, and since when', async () => {
  const { service, project, storage } = await open()
  const held = Object.fromEntries(HOLD_CAUSES.map((cause) => [cause, { count: 1 }]))
  const health = { disabledWebhooks: 0, openCircuits: 1, halfOpenCircuits: 2 }
  const backlog = { open: 9, due: 4, oldestDueAt: 5, held, ...health }
  Object.assign(storage.deliveries, {
    backlogs: () => Promise.resolve(success(new Map([[project.id, backlog]]))),
  })
  const { data } = await service.projects.overview()
  expect(data.find(({ id }) => id === project.id)).toMatchObject({
    openDeliveries: 9,
    oldestDueAt: 5,
    heldDeliveries: HOLD_CAUSES.length,
    failingWebhooks: 3,
  })
})

it('projects with failing webhooks come first, then the oldest ones, in pages', async () => {
  const { service, storage, project, early, late } = await open()
  const { webhook } = await service.webhooks.create({
    projectId: late.id,
    url: 'https://late.example/',
    events: ['*'],
  })
  const ref = { projectId: late.id, webhookId: webhook.id }
  await service.webhooks.update({ ...ref, change: { enabled: false } })
  const { data, nextCursor } = await service.projects.overview({ limit: 1 })
  expect(data).toMatchObject([{ id: late.id, failingWebhooks: 1, heldDeliveries: 0 }])
  expect(nextCursor).toBe(late.id)
  const rest = await service.projects.overview({ limit: 10, cursor: late.id })
  expect(rest.nextCursor).toBeNull()
  expect(rest.data.map(({ id }) => id)).toEqual([project.id, early.id])
  for (const call of ['messages.backlogs', 'deliveries.backlogs', 'counts.read'] as const) {
    storage.fail(call)
    expect(await refusalOf(service.projects.overview())).toMatchObject({ kind: 'unavailable' })
  }
})

it('the overview counts held deliveries of a paused webhook', async () => {
  const { service, project, webhook: created, send, clock } = await open()
  const ref = { projectId: project.id, webhookId: created.webhook.id }
  await service.webhooks.update({ ...ref, change: { paused: true } })
  await send('hello')
  await clock.advance(100)
  const { data } = await service.projects.overview()
  expect(data.find(({ id }) => id === project.id)).toMatchObject({
    openDeliveries: 1,
    heldDeliveries: 1,
    failingWebhooks: 0,
  })
})

it('the overview shows since when a delivery is due, and reads all projects', async () => {
  const { service, project, storage, send, sender } = await open()
  for (let i = 0; i < 1_001; i++) await service.projects.create({ name: `shop ${i}` })
  sender.hold()
  const before = service.host.now()
  await send('hello')
  await send('hello')
  const { data } = await service.projects.overview({ limit: 1_100 })
  expect(data.filter(({ name }) => name.startsWith('shop'))).toHaveLength(1_001)
  const mine = data.find(({ id }) => id === project.id)
  expect(mine?.openDeliveries).toBe(2)
  expect(mine?.oldestDueAt ?? before).toBeGreaterThanOrEqual(before)
  storage.fail('credentials.listProjects')
  expect(await refusalOf(service.projects.overview())).toMatchObject({ kind: 'unavailable' })
})
