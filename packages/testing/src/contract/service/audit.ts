import { expect } from 'vitest'
import type { AuditEntry, Message } from '@org/agent-messaging-core'
import type { MessageInput, Cancellation } from '@org/agent-messaging-core/storage'
import {
  anAgent,
  anApiKey,
  anAuditEntry,
  anEvent,
  aPortalSession,
  aProject,
  aRecovery,
  aWebhook,
  PROJECT_ID,
} from '../../builders.js'
import { heldBy, MINUTE, NOW, OTHER_PROJECT_ID, refTo, UNKNOWN_ID, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const PAGE = { limit: 100 }

type Change = (storage: UnwrappedStorage, audit: AuditEntry, scene: Scene) => Promise<unknown>

/** Adds one entry per call, by creating a project. */
const add = async ({ credentials }: UnwrappedStorage, entry: Partial<AuditEntry> = {}) => {
  const audit = anAuditEntry({ targetName: aProject().name, ...entry })
  await credentials.createProject(aProject({ id: audit.id }), audit)
  return audit
}

const cancellationOf = (message: Message, scene: Scene): Cancellation => ({
  ...refTo(message),
  state: { kind: 'cancelled', cancelledAt: NOW },
  outgoing: scene.outgoing(anEvent({ id: message.agentId, projectId: PROJECT_ID })),
})

const INPUT: MessageInput = {
  id: '00000000-0000-7fff-a000-000000000001',
  question: 'Go on?',
  onExpiry: 'fail',
  askedAt: NOW,
}

/** Asks a question, and changes the question `inputId`. */
async function changeInput(
  { messages }: UnwrappedStorage,
  audit: AuditEntry,
  scene: Scene,
  inputId: string,
): Promise<void> {
  const agent = await scene.agent()
  const run = await scene.run(agent)
  const outgoing = scene.outgoing(anEvent(agent))
  const deadlineAt = NOW + MINUTE
  const state = { kind: 'input_required', askedAt: NOW, deadlineAt, dueAt: deadlineAt } as const
  await messages.ask({ ...heldBy(run), state, inputs: [INPUT], outgoing })
  await messages.changeInput({
    ...refTo(run.message),
    ...{ inputId, now: NOW, outgoing: scene.outgoing(anEvent(agent)), audit },
    state: { kind: 'queued', notBefore: NOW },
    inputs: [INPUT],
  })
}

/** The id of a delivery that is due. */
async function delivery(scene: Scene): Promise<string> {
  await scene.webhook()
  const claim = { until: NOW, except: new Set<string>() }
  const [born] = await scene.publish(await scene.agent(), {}, claim)
  if (!born) throw new Error('the event has no delivery')
  return born.delivery.id
}

const STEP = {
  ...{ projectId: PROJECT_ID, endUserId: 'u', countOnly: false },
  ...{ now: NOW, limit: 100, after: 0 },
}
const U = { type: 'end_user', endUserId: 'u' } as const
const BODY_OF_U = JSON.stringify({ data: { executionPrincipal: U } })

/** Two messages and a delivery, in three commits with one entry. */
async function erasePrincipal(
  { messages, deliveries }: UnwrappedStorage,
  audit: AuditEntry,
  scene: Scene,
  more: Partial<typeof STEP> = {},
): Promise<void> {
  await scene.webhook()
  for (const _ of [1, 2]) {
    const agent = await scene.agent()
    await scene.send(agent, { executionPrincipal: U })
    await scene.publish(agent, { body: BODY_OF_U })
    const step = { ...STEP, ...more, audit, agentId: agent.id, force: true }
    await messages.erasePrincipal(step)
  }
  await deliveries.erasePrincipal({ ...STEP, ...more, audit })
}

const CHANGES: readonly [string, Change][] = [
  ['add', ({ audit }, entry) => audit.add(entry)],
  ['createProject', ({ credentials }, audit) => credentials.createProject(aProject(), audit)],
  [
    'createKey',
    ({ credentials }, audit) => credentials.createKey(anApiKey(), 'ab'.repeat(32), 1, audit),
  ],
  [
    'revokeKey',
    async ({ credentials }, audit) => {
      const key = anApiKey()
      await credentials.createKey(key, 'ab'.repeat(32), 1)
      return credentials.revokeKey(PROJECT_ID, key.id, NOW, audit)
    },
  ],
  ['webhooks.create', ({ webhooks }, audit) => webhooks.create(aWebhook(), 1, audit)],
  [
    'webhooks.update',
    async ({ webhooks }, audit) => {
      const webhook = aWebhook()
      await webhooks.create(webhook, 1)
      return webhooks.update(PROJECT_ID, webhook.id, { updatedAt: NOW }, audit)
    },
  ],
  [
    'webhooks.update with a rotation',
    async ({ webhooks }, audit) => {
      const webhook = aWebhook()
      await webhooks.create(webhook, 1)
      const rotation = { rotation: { secret: webhook.secret, previousUntil: NOW }, updatedAt: NOW }
      return webhooks.update(PROJECT_ID, webhook.id, rotation, audit)
    },
  ],
  [
    'webhooks.delete',
    async ({ webhooks }, audit) => {
      const webhook = aWebhook()
      await webhooks.create(webhook, 1)
      return webhooks.delete(PROJECT_ID, webhook.id, audit)
    },
  ],
  ['agents.create', ({ agents }, audit) => agents.create(anAgent(), 1, audit)],
  [
    'agents.update',
    async ({ agents }, audit) => {
      const agent = anAgent()
      await agents.create(agent, 1)
      return agents.update(PROJECT_ID, agent.id, { updatedAt: NOW }, audit)
    },
  ],
  [
    'agents.delete',
    async ({ agents }, audit) => {
      const agent = anAgent()
      await agents.create(agent, 1)
      return agents.delete(PROJECT_ID, agent.id, audit)
    },
  ],
  ['recoveries.create', ({ recoveries }, audit) => recoveries.create(aRecovery(), 1, audit)],
  [
    'recoveries.cancel',
    async ({ recoveries }, audit) => {
      const recovery = aRecovery()
      await recoveries.create(recovery, 1)
      return recoveries.decide(PROJECT_ID, recovery.id, 'cancel', NOW, audit)
    },
  ],
  [
    'messages.cancel',
    async ({ messages }, audit, scene) =>
      messages.cancel({ ...cancellationOf(await scene.send(await scene.agent()), scene), audit }),
  ],
  [
    'messages.retry',
    async ({ messages }, audit, scene) => {
      const message = await scene.send(await scene.agent())
      await scene.cancel(message)
      return messages.retry({ ...refTo(message), now: NOW, audit })
    },
  ],
  [
    'messages.changeInput',
    async (storage, audit, scene) => changeInput(storage, audit, scene, INPUT.id),
  ],
  [
    'messages.erase',
    async ({ messages }, audit, scene) => {
      const message = await scene.send(await scene.agent())
      await scene.cancel(message)
      return messages.erase({ ...message, audit })
    },
  ],
  [
    'deliveries.redeliver',
    async ({ deliveries }, audit, scene) => {
      const id = await delivery(scene)
      await deliveries.cancel(PROJECT_ID, id, NOW)
      const filter = { projectId: PROJECT_ID, deliveryId: id }
      return deliveries.redeliver(filter, { limit: 1 }, NOW, audit)
    },
  ],
  [
    'deliveries.cancel',
    async ({ deliveries }, audit, scene) =>
      deliveries.cancel(PROJECT_ID, await delivery(scene), NOW, audit),
  ],
  [
    'deliveries.skip',
    async ({ deliveries }, audit, scene) =>
      deliveries.cancel(PROJECT_ID, await delivery(scene), NOW, audit, 'skipped'),
  ],
  [
    'an erasure of a principal, once for all of its steps',
    async (storage, audit, scene) => erasePrincipal(storage, audit, scene),
  ],
  [
    'events.erasePrincipal',
    async ({ events }, audit, scene) => {
      await scene.publish(await scene.agent(), { body: BODY_OF_U })
      return events.erasePrincipal({ ...STEP, audit })
    },
  ],
]

/** Calls that change nothing. */
const REFUSED: readonly [string, Change][] = [
  [
    'a key for no project',
    ({ credentials }, audit) =>
      credentials.createKey(anApiKey({ projectId: UNKNOWN_ID }), 'ab'.repeat(32), 1, audit),
  ],
  [
    'a key over the limit',
    ({ credentials }, audit) => credentials.createKey(anApiKey(), 'ab'.repeat(32), 0, audit),
  ],
  [
    'a key that is revoked already',
    async ({ credentials }, audit) => {
      const key = anApiKey()
      await credentials.createKey(key, 'ab'.repeat(32), 1)
      await credentials.revokeKey(PROJECT_ID, key.id, NOW)
      await credentials.revokeKey(PROJECT_ID, key.id, NOW, audit)
    },
  ],
  [
    'a key of another project',
    async ({ credentials }, audit) => {
      const key = anApiKey()
      await credentials.createKey(key, 'ab'.repeat(32), 1)
      await credentials.revokeKey(OTHER_PROJECT_ID, key.id, NOW, audit)
    },
  ],
  ['a webhook over the limit', ({ webhooks }, audit) => webhooks.create(aWebhook(), 0, audit)],
  [
    'an unknown webhook',
    async ({ webhooks }, audit) => {
      await webhooks.update(PROJECT_ID, UNKNOWN_ID, { updatedAt: NOW }, audit)
      await webhooks.delete(PROJECT_ID, UNKNOWN_ID, audit)
    },
  ],
  ['an agent over the limit', ({ agents }, audit) => agents.create(anAgent(), 0, audit)],
  [
    'an unknown agent',
    async ({ agents }, audit) => {
      await agents.update(PROJECT_ID, UNKNOWN_ID, { updatedAt: NOW }, audit)
      await agents.delete(PROJECT_ID, UNKNOWN_ID, audit)
    },
  ],
  [
    'a recovery over the limit',
    ({ recoveries }, audit) => recoveries.create(aRecovery(), 0, audit),
  ],
  [
    'a recovery that has ended',
    async ({ recoveries }, audit) => {
      const recovery = aRecovery()
      await recoveries.create(recovery, 1)
      await recoveries.decide(PROJECT_ID, recovery.id, 'cancel', NOW)
      await recoveries.decide(PROJECT_ID, recovery.id, 'cancel', NOW, audit)
    },
  ],
  [
    'a message that is final already',
    async ({ messages }, audit, scene) => {
      const message = await scene.send(await scene.agent())
      await scene.cancel(message)
      await messages.cancel({ ...cancellationOf(message, scene), audit })
    },
  ],
  [
    'a message that cannot be retried',
    async ({ messages }, audit, scene) => {
      const agent = await scene.agent()
      const message = await scene.send(agent)
      await messages.retry({ ...refTo(message), now: NOW, audit })
      await scene.cancel(message)
      await messages.retry({ ...refTo({ ...message, id: UNKNOWN_ID }), now: NOW, audit })
    },
  ],
  [
    'another question than the open one',
    async (storage, audit, scene) => changeInput(storage, audit, scene, UNKNOWN_ID),
  ],
  [
    'a session with an open message',
    async ({ messages }, audit, scene) => {
      await messages.erase({ ...(await scene.send(await scene.agent())), audit })
    },
  ],
  [
    'a delivery that is due or final already',
    async ({ deliveries }, audit, scene) => {
      const id = await delivery(scene)
      const filter = { projectId: PROJECT_ID, deliveryId: id }
      await deliveries.redeliver(filter, { limit: 1 }, NOW, audit)
      await deliveries.cancel(PROJECT_ID, id, NOW)
      await deliveries.cancel(PROJECT_ID, id, NOW, audit)
      await deliveries.cancel(PROJECT_ID, id, NOW, audit, 'skipped')
    },
  ],
  [
    'a principal without rows, or one that is only counted',
    async (storage, audit, scene) => {
      await erasePrincipal(storage, audit, scene, { endUserId: 'v' })
      await erasePrincipal(storage, audit, scene, { countOnly: true })
      await storage.events.erasePrincipal({ ...STEP, endUserId: 'v', audit })
      await storage.events.erasePrincipal({ ...STEP, countOnly: true, audit })
    },
  ],
]

export function auditSuite(it: StorageTest): void {
  it.for(CHANGES)('gets its entry with the change: %s', async ([, change], { storage, scene }) => {
    const audit = anAuditEntry({ count: 2, fields: ['description', 'url'], createdAt: NOW })
    await change(storage, audit, scene)
    expect((await storage.audit.list({}, PAGE)).data).toMatchObject([audit])
  })

  it.for(REFUSED)(
    'gets no entry if nothing changed: %s',
    async ([, change], { storage, scene }) => {
      await change(storage, anAuditEntry(), scene)
      expect((await storage.audit.list({}, PAGE)).data).toEqual([])
    },
  )

  it('stores the entry of a repeated call once', async ({ storage }) => {
    const webhook = aWebhook()
    const audit = anAuditEntry()
    await storage.webhooks.create(webhook, 1, audit)
    await storage.webhooks.create(webhook, 1, audit)
    expect((await storage.audit.list({}, PAGE)).data).toMatchObject([audit])
  })

  it('keeps the names of the actor and of a deleted target, and the values of a change', async ({
    storage,
  }) => {
    const actor = { kind: 'key', id: 'k', name: 'web <app>' } as const
    const webhook = aWebhook({ description: 'CRM' })
    const agent = anAgent({ name: 'support' })
    const key = anApiKey({ name: 'ci' })
    const portal = aPortalSession({ title: 'Acme' })
    const project = aProject({ id: UNKNOWN_ID, name: 'shop' })
    const { webhooks, agents, credentials, eventTypes, portals } = storage
    await credentials.createProject(project, anAuditEntry({ actor }))
    const sendLimits = { project: { messagesPerMinute: 1, burst: 2 } }
    await credentials.updateProject(project.id, { sendLimits }, anAuditEntry({ actor }))
    await credentials.createKey(key, 'ab'.repeat(32), 1, anAuditEntry({ actor }))
    await credentials.revokeKey(PROJECT_ID, key.id, NOW, anAuditEntry({ actor }))
    await portals.create(portal, 'cd'.repeat(32), 1, anAuditEntry({ actor }))
    await portals.end(PROJECT_ID, portal.id, NOW, anAuditEntry({ actor }))
    const type = { name: 'a.b', definedBy: 'project', deprecated: false, visible: false } as const
    await eventTypes.put(PROJECT_ID, type, 1, anAuditEntry({ actor }))
    await eventTypes.put(PROJECT_ID, { ...type, visible: true }, 1, anAuditEntry({ actor }))
    await eventTypes.delete(PROJECT_ID, 'a.b', anAuditEntry({ actor }))
    await webhooks.create(webhook, 1, anAuditEntry({ actor }))
    const change = { isPaused: true, description: 'New', updatedAt: NOW }
    await webhooks.update(PROJECT_ID, webhook.id, change, anAuditEntry({ actor }))
    await webhooks.delete(PROJECT_ID, webhook.id, anAuditEntry({ actor }))
    await agents.create(agent, 1, anAuditEntry({ actor }))
    await agents.update(
      PROJECT_ID,
      agent.id,
      { concurrency: 7, updatedAt: NOW },
      anAuditEntry({ actor }),
    )
    await agents.delete(PROJECT_ID, agent.id, anAuditEntry({ actor }))
    const { data } = await storage.audit.list({}, PAGE)
    expect(data.map((entry) => entry.actor)).toEqual(data.map(() => actor))
    expect(data.toReversed().map(({ targetName, changes }) => [targetName, changes])).toEqual([
      ['shop', undefined],
      ['shop', { sendLimits: { to: sendLimits } }],
      ['ci', { permissions: { to: key.permissions } }],
      ['ci', undefined],
      ['Acme', { permissions: { to: portal.permissions } }],
      ['Acme', undefined],
      ['a.b', undefined],
      ['a.b', { visible: { from: false, to: true } }],
      ['a.b', undefined],
      ['CRM', undefined],
      ['CRM', { paused: { from: false, to: true } }],
      ['New', undefined],
      ['support', undefined],
      ['support', { concurrency: { from: agent.concurrency, to: 7 } }],
      ['support', undefined],
    ])
  })

  it('lists entries newest first, in pages', async ({ storage }) => {
    const entries = [await add(storage), await add(storage), await add(storage)]
    const [oldest, middle, newest] = entries.map(({ id }) => id)
    const first = await storage.audit.list({}, { limit: 2 })
    expect(first.data.map(({ id }) => id)).toEqual([newest, middle])
    expect(first.nextCursor).toBe(middle)
    const rest = await storage.audit.list({}, { limit: 2, cursor: middle })
    expect(rest).toMatchObject({ data: [{ id: oldest }], nextCursor: null })
  })

  it('shows a project only its own entries, and an operator all of them', async ({ storage }) => {
    const own = await add(storage)
    const other = await add(storage, { projectId: OTHER_PROJECT_ID })
    expect((await storage.audit.list({ projectId: PROJECT_ID }, PAGE)).data).toEqual([own])
    expect((await storage.audit.list({ projectId: OTHER_PROJECT_ID }, PAGE)).data).toEqual([other])
    expect((await storage.audit.list({}, PAGE)).data).toEqual([other, own])
  })

  it('filters by action, kind of actor and target, together', async ({ storage }) => {
    const both = await add(storage, { action: 'key.revoked', targetId: 'x' })
    const byCli = await add(storage, { action: 'key.revoked', actor: { kind: 'cli' } })
    const ofTarget = await add(storage, { targetId: 'x' })
    const list = async (filter: object) => (await storage.audit.list(filter, PAGE)).data
    expect(await list({ action: 'key.revoked' })).toEqual([byCli, both])
    expect(await list({ actorKind: 'cli' })).toEqual([byCli])
    expect(await list({ targetId: 'x' })).toEqual([ofTarget, both])
    expect(await list({ action: 'key.revoked', targetId: 'x' })).toEqual([both])
    expect(await list({ projectId: OTHER_PROJECT_ID, targetId: 'x' })).toEqual([])
  })

  it('purges old entries, oldest first, a bounded number at a time', async ({ storage }) => {
    for (const age of [3, 2, 1]) await add(storage, { createdAt: NOW - age * MINUTE })
    const kept = await add(storage, { createdAt: NOW })
    const purge = () => storage.audit.purge({ finishedBefore: NOW, limit: 2 })
    expect([await purge(), await purge(), await purge()]).toEqual([2, 1, 0])
    expect((await storage.audit.list({}, PAGE)).data).toEqual([kept])
  })
}
