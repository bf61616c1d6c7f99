import { describe, expect } from 'vitest'
import type { Agent, EventName, Message } from '@org/agent-messaging-core'
import {
  isHook,
  receiverIdOf,
  type Circuit,
  type ClaimedMessage,
  type HookOfMessage,
  type Outgoing,
} from '@org/agent-messaging-core/storage'
import { aHook, anEvent, aRecovery, newMessage, PROJECT_ID } from '../../builders.js'
import { refused } from '../../fakes/fake-sender.js'
import {
  CLAIM_ALL,
  heldBy,
  LEASE_MS,
  MINUTE,
  NOW,
  OTHER_PROJECT_ID,
  refTo,
  SECOND,
  type Scene,
} from '../scene.js'
import type { StorageTest } from '../storage-test.js'
import type { UnwrappedStorage } from '../unwrapped.js'

const MOST = 10

const set = ({ webhooks }: UnwrappedStorage, { agentId }: Message, hook: HookOfMessage) =>
  webhooks.setHook(hook, agentId, MOST)

/** An event of the message, to commit with its change. */
const outgoingOf = (
  scene: Scene,
  { id: messageId, agentId, sessionId, projectId }: Message,
  name: EventName = 'message.responded',
  claim?: Outgoing['claim'],
): Outgoing =>
  scene.outgoing(
    anEvent({ id: agentId, projectId }, { name, messageId, agentId, sessionId }),
    claim,
  )

const nameOf = ({ hook }: HookOfMessage): string => hook.name ?? ''

/** The webhook of one send. */
const sendHook = (message: Parameters<typeof aHook>[0]): HookOfMessage => ({
  ...aHook(message, { ordering: 'none' }),
  hook: { messageId: message.id },
})

async function receiversOf({ deliveries }: UnwrappedStorage, { id }: Message): Promise<string[]> {
  const { data } = await deliveries.list({ projectId: PROJECT_ID, messageId: id }, { limit: 100 })
  return data.map(({ webhookId }) => webhookId).toSorted()
}

/** A running message with a hook. */
async function hooked(storage: UnwrappedStorage, scene: Scene, given?: Agent) {
  const agent = given ?? (await scene.agent())
  const run = await scene.run(agent, { sessionId: `session-${agent.id}` })
  const hook = aHook(run.message)
  expect(await set(storage, run.message, hook)).toBe('set')
  return { agent, run, hook, message: run.message as Message }
}

export function messageHooksSuite(it: StorageTest): void {
  it('G3: get a delivery in the commit of an answer, and no other message does', async ({
    storage,
    scene,
  }) => {
    const { agent, run, hook, message } = await hooked(storage, scene)
    const webhook = await scene.webhook()
    const other = await scene.run(agent, { sessionId: 'other' })
    await scene.answer(other, NOW, outgoingOf(scene, other.message))
    expect(await receiversOf(storage, other.message)).toEqual([webhook.id])
    const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
    const settled = await scene.answer(run, NOW, outgoingOf(scene, message, undefined, claim))
    expect(await receiversOf(storage, message)).toEqual([webhook.id, hook.id].toSorted())
    if (settled.kind !== 'recorded') throw new Error('the answer was not recorded')
    const born = settled.deliveries.find(({ webhook: { id } }) => id === hook.id)
    expect(born).toMatchObject({ webhook: hook, lease: { until: NOW + LEASE_MS } })
    const later = { now: NOW + LEASE_MS, until: NOW + 2 * LEASE_MS }
    const claimed = await storage.deliveries.claim({ ...CLAIM_ALL, ...later })
    expect(claimed.find(({ webhook: { id } }) => id === hook.id)?.webhook).toEqual(hook)
  })

  it('G3: are stored in the commit of a new message', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const draft = newMessage(agent, { claimUntil: NOW + LEASE_MS })
    const hook = aHook(draft)
    const accepted = await storage.messages.accept({ ...draft, hook })
    if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
    expect(await storage.webhooks.hooksOf(refTo(accepted.claimed.message))).toEqual([hook])
    expect((await storage.messages.accept({ ...draft, hook })).kind).toBe('existing')
    await scene.answer(accepted.claimed, NOW, outgoingOf(scene, accepted.claimed.message))
    expect(await receiversOf(storage, accepted.claimed.message)).toEqual([hook.id])
  })

  it('G3: of one send have no name, and get a delivery of the answer', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const drafts = ['first', 'second', 'third'].map((sessionId) => {
      const draft = newMessage(agent, { sessionId, claimUntil: NOW + LEASE_MS })
      return { ...draft, ...(sessionId !== 'second' && { hook: sendHook(draft) }) }
    })
    const accepted = await Promise.all(drafts.map((draft) => storage.messages.accept(draft)))
    const runs = accepted.map((one) => {
      if (one.kind !== 'claimed') throw new Error(one.kind)
      return one.claimed
    })
    const [first, , third] = runs.map(({ message }) => message) as [Message, Message, Message]
    expect(await second.webhooks.hooksOf(refTo(first))).toEqual([drafts[0]?.hook])
    // A change by another process counts, also for a hook that this process has stored.
    const added = aHook(third)
    expect(await set(second, third, added)).toBe('set')
    await Promise.all(runs.map((run) => scene.answer(run, NOW, outgoingOf(scene, run.message))))
    const receivers = await Promise.all(runs.map(({ message }) => receiversOf(storage, message)))
    const [of, ofPlain, ofBoth] = receivers
    expect(of).toEqual([drafts[0]?.hook?.id])
    expect(ofPlain).toEqual([])
    expect(ofBoth).toEqual([drafts[2]?.hook?.id ?? '', added.id].toSorted())
  })

  it('G3: of one send are stored with a message that takes tokens of a limit', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const draft = newMessage(agent, { claimUntil: NOW + LEASE_MS })
    const hook = sendHook(draft)
    const bucket = {
      bucket: 'send',
      of: 'project',
      limit: { messagesPerMinute: 1, burst: 1 },
    } as const
    const take = (message: typeof draft) =>
      storage.messages.accept({ ...message, takes: [bucket], hook: sendHook(message) })
    const accepted = await storage.messages.accept({ ...draft, takes: [bucket], hook })
    if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
    const refused = newMessage(agent, { sessionId: 'refused' })
    expect((await take(refused)).kind).toBe('rate_limited')
    expect(await storage.webhooks.hooksOf(refTo(accepted.claimed.message))).toEqual([hook])
    await scene.answer(accepted.claimed, NOW, outgoingOf(scene, accepted.claimed.message))
    expect(await receiversOf(storage, accepted.claimed.message)).toEqual([hook.id])
  })

  it('get no delivery after their change or deletion during the run', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
    for (const change of ['moved', 'deleted']) {
      const draft = newMessage(agent, { sessionId: change, claimUntil: NOW + LEASE_MS })
      const hook = aHook(draft)
      const accepted = await storage.messages.accept({ ...draft, hook })
      if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
      const { message } = accepted.claimed
      const moved = { ...hook, url: 'https://moved.example/' }
      if (change === 'moved') expect(await set(second, message as Message, moved)).toBe('set')
      else expect(await second.webhooks.deleteHook(refTo(message), nameOf(hook))).toBe(true)
      const outgoing = outgoingOf(scene, message, undefined, claim)
      const settled = await scene.answer(accepted.claimed, NOW, outgoing)
      if (settled.kind !== 'recorded') throw new Error('the answer was not recorded')
      const urls = settled.deliveries.map(({ webhook: { url } }) => url)
      expect(urls).toEqual(change === 'moved' ? ['https://moved.example/'] : [])
    }
  })

  it('G3: get a delivery also if another process has set them during the run', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    for (const sessionId of ['first', 'second', 'third']) {
      const run = await scene.run(agent, { sessionId })
      const hook = aHook(run.message)
      expect(await set(second, run.message, hook)).toBe('set')
      await scene.answer(run, NOW, outgoingOf(scene, run.message))
      expect(await receiversOf(storage, run.message)).toEqual([hook.id])
    }
  })

  it('G3: get a delivery of every other change of the message', async ({ storage, scene }) => {
    const { run, hook, message } = await hooked(storage, scene)
    const input = { id: hook.id, question: 'Pay?', askedAt: NOW }
    const asking = { kind: 'input_required', askedAt: NOW, deadlineAt: NOW + MINUTE } as const
    await storage.messages.ask({
      ...heldBy(run),
      state: { ...asking, dueAt: NOW + MINUTE },
      inputs: [input],
      outgoing: outgoingOf(scene, message, 'message.input_required'),
    })
    expect(await receiversOf(storage, message)).toEqual([hook.id])
    await storage.messages.changeInput({
      ...refTo(message),
      inputId: input.id,
      state: { kind: 'queued', notBefore: NOW },
      inputs: [input],
      now: NOW,
      outgoing: outgoingOf(scene, message, 'message.input_received'),
    })
    await scene.cancel(message, outgoingOf(scene, message, 'message.cancelled'))
    expect(await receiversOf(storage, message)).toEqual([hook.id, hook.id, hook.id])
    // The deliveries keep their order.
    const claimed = await storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + 1 })
    expect(claimed.map(({ delivery: { event } }) => event)).toEqual(['message.input_required'])
  })

  it('get only their events', async ({ storage, scene }) => {
    const { run, hook, message } = await hooked(storage, scene)
    const error = anEvent(
      { id: message.agentId, projectId: PROJECT_ID },
      { name: 'agent.error', messageId: message.id },
    )
    const answer = outgoingOf(scene, message)
    await scene.answer(run, NOW, { ...answer, events: [error, ...answer.events] })
    expect(await receiversOf(storage, message)).toEqual([hook.id])
  })

  it('are no webhooks of the project', async ({ storage: { webhooks, ...storage }, scene }) => {
    const { hook, message } = await hooked({ webhooks, ...storage }, scene)
    expect(await webhooks.get(PROJECT_ID, hook.id)).toBeUndefined()
    expect((await webhooks.list(PROJECT_ID, { limit: 10 })).data).toEqual([])
    expect(await webhooks.update(PROJECT_ID, hook.id, { updatedAt: NOW })).toBeUndefined()
    const rotation = { rotation: { secret: hook.secret, previousUntil: NOW }, updatedAt: NOW }
    expect(await webhooks.update(PROJECT_ID, hook.id, rotation)).toBeUndefined()
    expect(await webhooks.delete(PROJECT_ID, hook.id)).toBe(false)
    const test = anEvent({ id: message.agentId, projectId: PROJECT_ID }, { name: 'webhook.test' })
    expect(await storage.deliveries.publishTo(hook.id, test, test.id)).toBeUndefined()
    const { hook: _, ...webhook } = aHook(message)
    expect(await webhooks.create(webhook, 1)).toBe('created')
    expect(await webhooks.hooksOf(refTo(message))).toEqual([hook])
  })

  it('have deliveries that a list can leave out, and that no recovery sends again', async ({
    storage,
    scene,
  }) => {
    const { run, hook, message } = await hooked(storage, scene)
    const webhook = await scene.webhook()
    await scene.answer(run, NOW, outgoingOf(scene, message))
    const all = { projectId: PROJECT_ID }
    const { data } = await storage.deliveries.list(all, { limit: 10 })
    const idOf = (id: string) => data.find(({ webhookId }) => webhookId === id)?.id
    const shown = async (filter: object) => {
      const asked = { ...all, withoutHooks: true, ...filter }
      const page = await storage.deliveries.list(asked, { limit: 10 })
      return page.data.map(({ webhookId }) => webhookId)
    }
    for (const filter of [{}, { messageId: message.id }, { status: 'pending' }])
      expect(await shown(filter)).toEqual([webhook.id])
    expect(await shown({ webhookId: hook.id })).toEqual([])
    expect(await shown({ deliveryId: idOf(hook.id) })).toEqual([])
    expect(await shown({ deliveryId: idOf(webhook.id) })).toEqual([webhook.id])
    for (const { id } of data) await storage.deliveries.cancel(PROJECT_ID, id, NOW)
    const recovery = aRecovery({ filter: { status: 'cancelled', createdBefore: NOW + MINUTE } })
    expect(await storage.recoveries.create(recovery, 10)).toBe('created')
    const step = { limit: 10, now: NOW, nextDeliveryId: () => '' }
    expect(await storage.recoveries.advance(step)).toMatchObject({ matched: 1, redelivered: 1 })
    const single = { ...all, deliveryId: idOf(hook.id) ?? '' }
    expect(await storage.deliveries.redeliver(single, { limit: 1 }, NOW)).toMatchObject({
      count: 1,
    })
  })

  it('have a limit and one name each, and change by their id', async ({ storage, scene }) => {
    const message = await scene.send(await scene.agent())
    const ref = refTo(message)
    const first = aHook(message, { name: 'first' })
    expect(await storage.webhooks.setHook(first, message.agentId, 2)).toBe('set')
    expect(await storage.webhooks.setHook(first, message.agentId, 2)).toBe('set')
    const namesake = aHook(message, { name: 'first' })
    expect(await storage.webhooks.setHook(namesake, message.agentId, 2)).toBe('name_taken')
    const second = aHook(message, { name: 'second' })
    expect(await storage.webhooks.setHook(second, message.agentId, 2)).toBe('set')
    const third = aHook(message, { name: 'third' })
    expect(await storage.webhooks.setHook(third, message.agentId, 2)).toBe('limit_reached')
    const moved = { ...first, url: 'https://other.example/', updatedAt: NOW + SECOND }
    expect(await storage.webhooks.setHook(moved, message.agentId, 2)).toBe('set')
    expect(await storage.webhooks.hooksOf(ref)).toEqual([moved, second])
  })

  it('belong to a message of their project and agent', async ({ storage, scene }) => {
    const { hook, message, agent } = await hooked(storage, scene)
    const elsewhere = { ...message, projectId: OTHER_PROJECT_ID }
    expect(await set(storage, elsewhere, aHook(elsewhere))).toBe('message_not_found')
    const missing = { ...message, id: agent.id }
    expect(await set(storage, missing, aHook(missing))).toBe('message_not_found')
    const ofOther = { ...refTo(message), agentId: hook.id }
    for (const ref of [refTo(elsewhere), refTo(missing), ofOther]) {
      expect(await storage.webhooks.hooksOf(ref)).toEqual([])
      expect(await storage.webhooks.deleteHook(ref, nameOf(hook))).toBe(false)
    }
    expect(await storage.webhooks.hooksOf(refTo(message))).toEqual([hook])
  })

  it('are deleted at once, and the sweep deletes their deliveries', async ({ storage, scene }) => {
    const { run, hook, message } = await hooked(storage, scene)
    const kept = aHook(message, { name: 'kept' })
    await set(storage, message, kept)
    await scene.answer(run, NOW, outgoingOf(scene, message))
    const remove = () => storage.webhooks.deleteHook(refTo(message), nameOf(hook))
    expect([await remove(), await remove()]).toEqual([true, false])
    expect(await storage.webhooks.hooksOf(refTo(message))).toEqual([kept])
    const claimed = await storage.deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + 1 })
    expect(claimed.map(({ webhook: { id } }) => id)).toEqual([kept.id])
    await sweepAll(storage)
    expect(await receiversOf(storage, message)).toEqual([kept.id])
    const again = aHook(message)
    expect(await set(storage, message, again)).toBe('set')
    expect(await storage.webhooks.hooksOf(refTo(message))).toEqual([kept, again])
  })

  describe('of one origin', () => {
    const DEAD = { ordering: 'none', events: ['message.responded'] } as const
    const receiverOf = (path: string) => `https://dead.example/${path}`

    /** Ten answered messages whose hooks name one origin, and a webhook that gets their events too. */
    async function manyHooks(storage: UnwrappedStorage, scene: Scene) {
      const agent = await scene.agent()
      const webhook = await scene.webhook({ events: ['message.responded'] })
      const hooks: HookOfMessage[] = []
      for (let n = 0; n < 10; n++) {
        const run = await scene.run(agent, { sessionId: `s${n}` })
        const hook = aHook(run.message, { ...DEAD, url: receiverOf(`${n}`) })
        expect(await set(storage, run.message, hook)).toBe('set')
        hooks.push(hook)
        const at = NOW + n
        await scene.answer(run, at, scene.outgoing(responded(run.message, at)))
      }
      return { agent, webhook, hooks, receiverId: receiverIdOf(hooks[0] as HookOfMessage) }
    }

    const responded = ({ id: messageId, agentId, projectId, sessionId }: Message, at: number) =>
      anEvent(
        { id: agentId, projectId },
        { name: 'message.responded', messageId, agentId, sessionId, createdAt: at },
      )
    const terms = { now: NOW + SECOND, until: NOW + LEASE_MS }
    const idsOf = (claimed: readonly { readonly webhook: { readonly id: string } }[]) =>
      claimed.map(({ webhook }) => webhook.id).toSorted()

    it('G4: share one turn beside a live webhook, the oldest first', async ({ storage, scene }) => {
      const { webhook, hooks, receiverId } = await manyHooks(storage, scene)
      const ids = hooks.map(({ id }) => id)
      const claim = (query: object) =>
        storage.deliveries.claim({ ...CLAIM_ALL, ...terms, ...query })
      const first = await claim({ perWebhook: 2 })
      expect(idsOf(first)).toEqual([...ids.slice(0, 2), webhook.id, webhook.id].toSorted())
      const own = first.find(({ webhook: { id } }) => id === ids[1])
      expect(own?.webhook).toEqual(hooks[1])
      const rooms = new Map([[receiverId, 1]])
      const query = { ...CLAIM_ALL, ...terms, perWebhook: 2, rooms }
      const { deliveries, skipped } = await storage.deliveries.claimDue(query)
      expect(idsOf(deliveries)).toEqual([ids[2] ?? '', webhook.id, webhook.id].toSorted())
      expect(skipped).toEqual([receiverId])
      const others = await claim({ except: new Set([receiverId]) })
      expect(others.map(({ webhook: { id } }) => id)).toEqual(Array(6).fill(webhook.id))
      expect(idsOf(await claim({}))).toEqual(ids.slice(3).toSorted())
      expect(await claim({})).toEqual([])
    })

    it('share one circuit, and one probe', async ({ storage, scene }) => {
      const { agent, webhook, hooks } = await manyHooks(storage, scene)
      const ids = hooks.map(({ id }) => id)
      const claim = (now: number) =>
        storage.deliveries.claim({ ...CLAIM_ALL, perWebhook: 1, now, until: now + LEASE_MS })
      const [dead] = (await claim(NOW + SECOND)).filter(({ webhook: { id } }) => id === ids[0])
      if (!dead) throw new Error('no delivery of the first hook')
      const until = NOW + 2 * SECOND
      const recorded = await storage.deliveries.recordAttempt({
        ...{ deliveryId: dead.delivery.id, token: dead.lease.token },
        attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
        state: { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 },
        decideHealth: ({ health, updatedAt }) => ({
          change: {
            health: { ...health, circuit: { kind: 'open', until, trips: 1 } },
            updatedAt,
          },
        }),
      })
      expect(recorded).toMatchObject({
        webhook: { after: { id: receiverIdOf(dead.webhook), hook: { messageId: '' } } },
      })
      expect((await storage.deliveries.backlog(NOW)).openCircuits).toBe(1)
      expect(idsOf(await claim(until - 1))).toEqual([webhook.id])
      const run = await scene.run(agent, { sessionId: 'later' })
      const later = aHook(run.message, { ...DEAD, url: receiverOf('later') })
      await set(storage, run.message, later)
      const settled = await scene.answer(
        run,
        NOW,
        scene.outgoing(responded(run.message, NOW), {
          until: NOW + LEASE_MS,
          except: new Set<string>(),
        }),
      )
      if (settled.kind !== 'recorded') throw new Error('the answer was not recorded')
      expect(idsOf(settled.deliveries)).toEqual([webhook.id])
      // The delivery of the later hook has been due for the longest.
      const probe = (await claim(until)).find(({ webhook: { id } }) => id !== webhook.id)
      expect(probe?.webhook).toMatchObject({
        id: later.id,
        health: { circuit: { kind: 'open', until: until + LEASE_MS } },
      })
      expect(idsOf(await claim(until + 1))).toEqual([webhook.id])
      if (!probe) throw new Error('no probe')
      const claims = [
        { deliveryId: probe.delivery.id, token: probe.lease.token, isProbe: true },
      ] as const
      expect(await storage.deliveries.release(claims, until + 2)).toBe(1)
      // Another delivery has been due for longer now.
      expect(await claim(until + 2)).toHaveLength(2)
    })

    it('are not born claimed while their receiver fails, also right after their send', async ({
      storage,
      scene,
    }) => {
      const agent = await scene.agent()
      const claim = { until: NOW + LEASE_MS, except: new Set<string>() }
      const runs: ClaimedMessage[] = []
      for (const sessionId of ['first', 'second']) {
        const draft = newMessage(agent, { sessionId, claimUntil: NOW + LEASE_MS })
        const hook = { ...sendHook(draft), url: receiverOf(sessionId) }
        const accepted = await storage.messages.accept({ ...draft, hook })
        if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
        runs.push(accepted.claimed)
      }
      const bornClaimed = async (run: ClaimedMessage | undefined) => {
        if (!run) throw new Error('no run')
        const settled = await scene.answer(
          run,
          NOW,
          outgoingOf(scene, run.message, undefined, claim),
        )
        return settled.kind === 'recorded' ? settled.deliveries : []
      }
      const [first] = await bornClaimed(runs[0])
      if (!first) throw new Error('the first delivery was not claimed')
      const fail = (circuit: Circuit) =>
        storage.deliveries.recordAttempt({
          ...{ deliveryId: first.delivery.id, token: first.lease.token },
          attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
          state: { kind: 'exhausted', exhaustedAt: NOW },
          decideHealth: ({ health, updatedAt }) => ({
            change: { health: { ...health, consecutiveFailures: 1, circuit }, updatedAt },
          }),
        })
      await fail({ kind: 'open', until: NOW + MINUTE, trips: 1 })
      expect(await bornClaimed(runs[1])).toEqual([])
    })

    it('have a receiver until the last of them is deleted', async ({ storage, scene }) => {
      const { agent, hooks } = await manyHooks(storage, scene)
      const open = async () => (await storage.deliveries.backlog(NOW)).openCircuits
      const ofHook = ({ hook: { messageId } }: HookOfMessage) => ({
        ...{ projectId: PROJECT_ID, agentId: agent.id, messageId },
      })
      const due = await storage.deliveries.claim({ ...CLAIM_ALL, ...terms, perWebhook: 1 })
      const dead = due.find(({ webhook }) => isHook(webhook))
      if (!dead) throw new Error('no delivery')
      await storage.deliveries.recordAttempt({
        ...{ deliveryId: dead.delivery.id, token: dead.lease.token },
        attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
        state: { kind: 'pending', nextAttemptAt: NOW + MINUTE, step: 1 },
        decideHealth: ({ health, updatedAt }) => ({
          change: {
            health: { ...health, circuit: { kind: 'open', until: NOW + MINUTE, trips: 1 } },
            updatedAt,
          },
        }),
      })
      const [moved, ...others] = hooks as [HookOfMessage, ...HookOfMessage[]]
      for (const hook of others) {
        await sweepAll(storage)
        expect(await open()).toBe(1)
        expect(await storage.webhooks.deleteHook(ofHook(hook), nameOf(hook))).toBe(true)
      }
      await sweepAll(storage)
      expect(await open()).toBe(1)
      // Its deliveries go with it to the other receiver, whose circuit is closed.
      const elsewhere = { ...moved, url: 'https://live.example/' }
      expect(await storage.webhooks.setHook(elsewhere, agent.id, MOST)).toBe('set')
      expect(await open()).toBe(0)
      const later = { now: NOW + 2 * MINUTE, until: NOW + 3 * MINUTE }
      const claimed = await storage.deliveries.claim({ ...CLAIM_ALL, ...later })
      expect(
        claimed.filter(({ webhook }) => isHook(webhook)).map(({ webhook }) => webhook),
      ).toEqual([elsewhere])
      expect(await storage.webhooks.setHook(moved, agent.id, MOST)).toBe('set')
      expect(await storage.webhooks.hooksOf(ofHook(moved))).toEqual([moved])
    })

    it('have a receiver that no list shows', async ({ storage, scene }) => {
      const { webhook, receiverId } = await manyHooks(storage, scene)
      const { data } = await storage.webhooks.list(PROJECT_ID, { limit: 10 })
      expect(data.map(({ id }) => id)).toEqual([webhook.id])
      expect(await storage.webhooks.get(PROJECT_ID, receiverId)).toBeUndefined()
    })
  })

  it('end with their message', async ({ storage, scene }) => {
    const scenes = [await hooked(storage, scene), await hooked(storage, scene)] as const
    const [purged, erased] = scenes
    for (const { run, message } of scenes) await scene.answer(run, NOW, outgoingOf(scene, message))
    const agent = await scene.agent()
    const principal = { type: 'end_user', endUserId: 'u-1' } as const
    const users = await scene.run(agent, { executionPrincipal: principal })
    await set(storage, users.message, aHook(users.message))
    await scene.answer(users, NOW + MINUTE, outgoingOf(scene, users.message))

    const { agentId, sessionId } = erased.message
    const session = { projectId: PROJECT_ID, agentId, sessionId }
    expect(await storage.messages.erase(session)).toBe('erased')
    const step = { projectId: PROJECT_ID, agentId: agent.id, endUserId: 'u-1', force: false }
    const now = NOW + MINUTE
    const bounds = { after: 0, limit: 10, countOnly: false, now }
    expect(await storage.messages.erasePrincipal({ ...step, ...bounds })).toMatchObject({
      messages: 1,
    })
    await sweepAll(storage)
    expect(await receiversOf(storage, erased.message)).toEqual([])
    expect(await receiversOf(storage, users.message)).toEqual([])
    expect(await receiversOf(storage, purged.message)).toEqual([purged.hook.id])
    const purge = { finishedBefore: NOW + 1, limit: 10, now: NOW }
    expect(await storage.messages.purge(purge)).toMatchObject({ removed: 1 })
    await sweepAll(storage)
    expect(await receiversOf(storage, purged.message)).toEqual([])
    const reseal = { after: 0, limit: 10, reseal: () => undefined }
    expect(await storage.webhooks.reseal(reseal)).toMatchObject({ unopened: 0 })
    const { data: log } = await storage.deliveries.list({ projectId: PROJECT_ID }, { limit: 10 })
    expect(log).toEqual([])
  })
}

async function sweepAll({ messages }: UnwrappedStorage): Promise<void> {
  while ((await messages.sweep({ limit: 2, now: NOW })) > 0);
}
