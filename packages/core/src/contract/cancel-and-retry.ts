import { expect } from 'vitest'
import type { Agent } from '../domain/agent.js'
import type { Message } from '../domain/message.js'
import { anEvent, newMessage } from '../testing/builders.js'
import { heldBy, LEASE_MS, MINUTE, NOW, OTHER_PROJECT_ID, refTo, SECOND, UNKNOWN_ID, type Scene } from './scene.js'
import type { StorageTest } from './storage-test.js'

const CANCELLED = { kind: 'cancelled', cancelledAt: NOW } as const
const FAILED = { kind: 'failed', error: { code: 'RUNTIME_ERROR', message: 'it broke' }, failedAt: NOW } as const

export function cancelAndRetrySuite(it: StorageTest): void {
  it('cancels a queued message, and its session is idle again', async ({ scene }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent)
    expect(await scene.cancel(message)).toEqual({
      kind: 'cancelled',
      message: { ...message, state: CANCELLED },
      deliveries: [],
      sessionWaits: false,
    })
    expect(await scene.reread(message)).toEqual({ ...message, state: CANCELLED })
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
    expect((await scene.run(agent)).message.attempt).toBe(1)
  })

  it('G5: takes the lease from a run that it cancels, at once and for good', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    expect(await scene.cancel(run.message)).toMatchObject({ kind: 'cancelled', message: { attempt: 1 } })
    expect(await messages.extendLeases([heldBy(run)], NOW + MINUTE)).toEqual([run.message.id])
    expect(await messages.defer({ ...heldBy(run), state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW } })).toBe('lease_lost')
    expect(await messages.rememberSession({ ...heldBy(run), sessionState: 'late' })).toBe('lease_lost')
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(await scene.reread(run.message)).toMatchObject({ state: CANCELLED })
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
  })

  it('cancels a deferred message: its callback comes too late, and the next one follows at once', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const next = await scene.send(agent)
    await storage.messages.defer({ ...heldBy(run), state: { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + MINUTE } })
    expect(await scene.cancel(run.message)).toMatchObject({ kind: 'cancelled', sessionWaits: true })
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(await claimedIds(scene, agent)).toEqual([next.id])
  })

  it('G5: those behind a cancelled head follow in their order, and those that were cancelled are stepped over', async ({ scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const [second, third, fourth, fifth] = await sendSeveral(scene, agent, 4)
    expect(await scene.cancel(third)).toMatchObject({ kind: 'cancelled', sessionWaits: true })
    expect(await scene.claim(agent)).toEqual([])
    await scene.cancel(second)
    expect(await scene.cancel(run.message)).toMatchObject({ sessionWaits: true })
    const [next] = await scene.claim(agent)
    expect(next?.message.id).toBe(fourth.id)
    expect(next && (await scene.answer(next))).toMatchObject({ sessionWaits: true })
    await scene.cancel(fifth)
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
    expect((await scene.run(agent)).message.attempt).toBe(1)
  })

  it('a cancelled message leaves its room in the queue to others', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent({ maxQueued: 2 })
    await scene.run(agent)
    const [second] = await sendSeveral(scene, agent, 2)
    expect(await messages.accept(newMessage(agent))).toEqual({ kind: 'session_full' })
    await scene.cancel(second)
    expect(await messages.accept(newMessage(agent))).toMatchObject({ kind: 'created' })
    expect(await messages.accept(newMessage(agent))).toEqual({ kind: 'session_full' })
  })

  it('cancels once: what is final stays as it is, and nobody is told again', async ({ storage, scene }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const run = await scene.run(agent)
    await scene.answer(run)
    expect(await scene.cancel(run.message, scene.outgoing(anEvent(agent)))).toMatchObject({
      kind: 'already_final',
      message: { state: { kind: 'responded' } },
    })
    const other = await scene.send(agent)
    await scene.cancel(other, scene.outgoing(anEvent(agent)))
    expect(await scene.cancel(other, scene.outgoing(anEvent(agent)))).toEqual({
      kind: 'already_final',
      message: { ...other, state: CANCELLED },
    })
    expect((await storage.deliveries.list({ projectId: agent.projectId }, { limit: 10 })).data).toHaveLength(1)
  })

  it('G3: commits the event of a cancellation with it, and hands out the deliveries that are born claimed', async ({ scene }) => {
    const agent = await scene.agent()
    await scene.webhook()
    const outgoing = scene.outgoing(anEvent(agent), { until: NOW + MINUTE, except: new Set() })
    expect(await scene.cancel(await scene.send(agent), outgoing)).toMatchObject({ deliveries: [{ delivery: { event: 'agent.started' } }] })
  })

  it('G6: neither cancels nor retries what is not there, or is of another project or agent', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const failed = await scene.run(agent)
    await messages.recordRun({ ...heldBy(failed), state: FAILED, now: NOW })
    const open = await scene.send(agent)
    for (const change of [{ projectId: OTHER_PROJECT_ID }, { agentId: (await scene.agent()).id }, { messageId: UNKNOWN_ID }]) {
      const outgoing = scene.outgoing(anEvent(agent))
      expect(await messages.cancel({ ...refTo(open), ...change, state: CANCELLED, outgoing })).toBeUndefined()
      expect(await messages.retry({ ...refTo(failed.message), ...change, now: NOW })).toBeUndefined()
    }
    expect(await scene.reread(open)).toEqual(open)
  })

  it('retries a failed or cancelled message at the end of its session, with no attempts counted', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const failed = await scene.run(agent, { executionPrincipal: { type: 'end_user', endUserId: 'u' }, metadata: { a: 1 } })
    await storage.messages.recordRun({ ...heldBy(failed), state: FAILED, now: NOW })
    const [waiting, cancelled] = await sendSeveral(scene, agent, 2)
    await scene.cancel(cancelled)
    const queued = { kind: 'queued', notBefore: NOW + SECOND } as const
    const retried = { ...failed.message, attempt: 0, state: queued }
    expect(await storage.messages.retry({ ...refTo(failed.message), now: NOW + SECOND })).toEqual({ kind: 'retried', message: retried })
    expect(await storage.messages.retry({ ...refTo(cancelled), now: NOW + SECOND })).toMatchObject({ kind: 'retried' })
    expect(await scene.reread(failed.message)).toEqual(retried)

    const order = []
    for (let turn = 0; turn < 3; turn++) {
      const [claim] = await scene.claim(agent, NOW + MINUTE)
      order.push([claim?.message.id, claim?.message.attempt])
      if (claim) await scene.answer(claim)
    }
    expect(order).toEqual([waiting, failed.message, cancelled].map(({ id }) => [id, 1]))
    expect(await scene.claim(agent, NOW + MINUTE)).toEqual([])
  })

  it('makes an idle session due with what is retried in it', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent)
    await scene.cancel(message)
    await messages.retry({ ...refTo(message), now: NOW })
    expect(await messages.accept(newMessage(agent, { claimUntil: NOW + LEASE_MS }))).toMatchObject({ kind: 'created' })
    expect(await claimedIds(scene, agent)).toEqual([message.id])
  })

  it('G2: refuses the answers of the runs before a retry, and attaches to the message by its key as before', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent, { idempotencyKey: 'k' })
    await scene.cancel(run.message)
    await messages.retry({ ...refTo(run.message), now: NOW })
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    const [again] = await scene.claim(agent)
    expect(await scene.answer(run)).toEqual({ kind: 'lease_lost' })
    expect(again?.lease.token).not.toBe(run.lease.token)
    expect(again && (await scene.answer(again))).toMatchObject({ kind: 'recorded' })
    const attached = await messages.accept(newMessage(agent, { idempotencyKey: 'k' }))
    expect(attached).toMatchObject({ kind: 'existing', message: { id: run.message.id, state: { kind: 'responded' } } })
  })

  it('a retried message has the turns behind it that were answered meanwhile', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const failed = await scene.run(agent)
    await messages.recordRun({ ...heldBy(failed), state: FAILED, now: NOW })
    const meanwhile = await scene.run(agent)
    await scene.answer(meanwhile)
    await messages.retry({ ...refTo(failed.message), now: NOW })
    const turns = await messages.history({ messageId: failed.message.id, maxTurns: 9, maxLength: 9_999 })
    expect(turns.map(({ messageId }) => messageId)).toEqual([meanwhile.message.id])
  })

  it('retries only what failed or was cancelled, once', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent)
    const queued = await scene.send(agent)
    for (const message of [run.message, queued]) {
      expect(await messages.retry({ ...refTo(message), now: NOW })).toEqual({ kind: 'not_retryable' })
    }
    await scene.answer(run)
    expect(await messages.retry({ ...refTo(run.message), now: NOW })).toEqual({ kind: 'not_retryable' })
    await scene.cancel(queued)
    expect(await messages.retry({ ...refTo(queued), now: NOW })).toMatchObject({ kind: 'retried' })
    expect(await messages.retry({ ...refTo(queued), now: NOW })).toEqual({ kind: 'not_retryable' })
  })

  it('retries as a new message is accepted: with room in the session, and while the agent runs', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const message = await scene.send(agent)
    await scene.cancel(message)
    const run = await scene.run(agent)
    expect(await storage.messages.retry({ ...refTo(message), now: NOW })).toEqual({ kind: 'session_full' })
    await scene.answer(run)
    await storage.agents.changeState({ agentId: agent.id, from: 'running', to: { kind: 'stopping' } })
    expect(await storage.messages.retry({ ...refTo(message), now: NOW })).toEqual({ kind: 'agent_not_running' })
    expect(await scene.reread(message)).toEqual({ ...message, state: CANCELLED })
  })
}

type Several = Message[] & Readonly<Record<0 | 1 | 2 | 3, Message>>

async function sendSeveral(scene: Scene, agent: Agent, count: number): Promise<Several> {
  const sent = []
  for (let i = 0; i < count; i++) sent.push(await scene.send(agent))
  return sent as Several
}

const claimedIds = async (scene: Scene, agent: Agent): Promise<string[]> => (await scene.claim(agent)).map(({ message }) => message.id)
