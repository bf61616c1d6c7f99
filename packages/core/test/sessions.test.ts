import type { Sweep } from '@org/agent-messaging-core/storage'
import { refusalOf, mapped, unwrap } from '@org/agent-messaging-testing'
import type { Message } from '@org/agent-messaging-core'
import type { RunRequest } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

const page = { limit: 10 }

describe('sessions', () => {
  it('are listed, most recent first, with their numbers of open messages', async () => {
    const { service, ref, post } = await scene()
    await post('1', { sessionId: 'a' })
    const { id } = await post('2', { sessionId: 'b' })
    const listed = await service.sessions.list({ ...ref, ...page })
    expect(listed.data.map(({ sessionId, openCount }) => [sessionId, openCount])).toEqual([
      ['b', 1],
      ['a', 1],
    ])
    expect(listed.data[0]?.lastMessageId).toBe(id)
    expect(await refusalOf(service.sessions.list({ ...ref, agent: 'nobody', ...page }))).toEqual({
      kind: 'agent_not_found',
    })
  })

  it('are erased if no message is open, or with force', async () => {
    const { service, ref, post, clock, runtime } = await scene({ policy: { runLeaseMs: 3_000 } })
    const { id: messageId } = await post()
    await clock.until(() => runtime.openRuns.length === 1)
    const erase = (force?: boolean) => service.sessions.erase({ ...ref, sessionId: 's', force })
    expect(await refusalOf(erase())).toEqual({ kind: 'session_busy' })
    await erase(true)
    expect(await refusalOf(service.messages.get({ ...ref, messageId }))).toEqual({
      kind: 'message_not_found',
    })
    expect(await refusalOf(erase(true))).toEqual({ kind: 'session_not_found' })
    await clock.advance(2_000) // the beat finds its lease lost
    expect(runtime.openRuns).toEqual([])
    expect((await post()).attempt).toBe(1)
  })

  it('announce the messages that are cancelled because they are erased by force', async () => {
    const { service, ref, post, hook, deliveries } = await scene()
    await hook()
    await post('running', { metadata: { ticket: 7 } })
    await post('queued')
    await post('elsewhere', { sessionId: 'other' })
    await service.sessions.erase({ ...ref, sessionId: 's', force: true })
    const events = (await deliveries())
      .map(({ body }) => JSON.parse(body))
      .filter(({ event }) => event !== 'agent.started')
    expect(events.map(({ event, data }) => [event, data.sessionId, data.metadata])).toEqual([
      ['agent.error', 's', { ticket: 7 }],
      ['message.cancelled', 's', { ticket: 7 }],
      ['agent.error', 's', {}],
      ['message.cancelled', 's', {}],
    ])
  })

  it('are one entry of the audit log, in the first commit of an erasure by force', async () => {
    const { service, ref, bot, post, storage } = await scene()
    await post('running')
    await post('queued')
    const log = async () =>
      (await service.auditLog.list({ action: 'session.erased', ...page })).data
    const { erase } = storage.messages
    const failSecond = (...input: Parameters<typeof erase>) => {
      storage.fail('messages.erase')
      return erase(...input)
    }
    Object.assign(storage.messages, {
      erase: (...input: Parameters<typeof erase>) => {
        Object.assign(storage.messages, { erase: failSecond })
        return erase(...input)
      },
    })
    const forced = { ...ref, sessionId: 's', force: true }
    expect((await refusalOf(service.sessions.erase(forced))).kind).toBe('unavailable')
    expect(await log()).toMatchObject([{ targetId: bot.id, actor: { kind: 'host' } }])
    Object.assign(storage.messages, { erase })
    await service.sessions.erase(forced)
    const { data } = await service.auditLog.list(page)
    expect(data.filter(({ action }) => action === 'message.cancelled')).toEqual([])
  })

  it('end the waits for messages that are erased by force, like a deleted agent', async () => {
    const { service, ref, send, clock, runtime } = await scene()
    const other = send('of another session', { sessionId: 'other' })
    const gone = send()
    await clock.until(() => runtime.openRuns.length === 2)
    const [run, { messageId }] = runtime.requests as [RunRequest, RunRequest]
    const read = service.messages.get({ ...ref, messageId, waitMs: 30_000 })
    await clock.advance(0)
    await service.sessions.erase({ ...ref, sessionId: 's', force: true })
    expect((await gone).message).toMatchObject({
      id: messageId,
      state: { kind: 'cancelled' },
    })
    expect((await read).state.kind).toBe('cancelled')
    expect(service.host.load().waitingCallers).toBe(1)
    await service.agents.delete({ ...ref, force: true })
    expect((await other).message).toMatchObject({
      id: run.messageId,
      state: { kind: 'cancelled' },
    })
  })

  it('end the waits in another process at its next poll', async () => {
    const { service, ref, send, storage, clock } = await scene()
    const many = Array.from({ length: 150 }, (_, i) =>
      send('of another session', { sessionId: `other ${i}` }),
    )
    const gone = send()
    await clock.until(() => service.host.load().waitingCallers === 151)
    const { agentId, projectId } = (await service.messages.list({ ...ref, ...page }))
      .data[0] as Message
    const cancelOpen = async (sessionId?: string): Promise<void> => {
      const filter = { agentId, projectId, ...(sessionId !== undefined && { sessionId }) }
      const open = unwrap(await storage.messages.list(filter, { limit: 200 })).data
      for (const { id: messageId } of open)
        await storage.messages.cancel({
          agentId,
          projectId,
          messageId,
          state: { kind: 'cancelled', cancelledAt: clock.now() },
          outgoing: { events: [], nextDeliveryId: () => '' },
        })
    }
    await cancelOpen('s')
    expect(unwrap(await storage.messages.erase({ agentId, projectId, sessionId: 's' }))).toBe(
      'erased',
    )
    await clock.advance(5_000)
    expect(service.host.load().waitingCallers).toBe(150)
    expect((await gone).message.sessionId).toBe('s')
    storage.fail('messages.find') // A failed read does not say which messages are gone.
    await clock.advance(500)
    expect(service.host.load().waitingCallers).toBe(150)
    await cancelOpen()
    await storage.agents.delete(projectId, agentId)
    await clock.advance(5_000)
    expect(await Promise.all(many)).toHaveLength(150)
  })

  it('leave no rows: the sweep deletes them in bounded rounds, and continues after an outage of the store', async () => {
    const { service, ref, post, storage, clock, telemetry } = await scene()
    let sweeps = 0
    const { sweep } = storage.messages
    Object.assign(storage.messages, {
      sweep: (step: Sweep) => mapped(sweep(step), () => (sweeps++ === 0 ? step.limit : 0)),
    })
    const { id: messageId } = await post()
    await service.messages.cancel({ ...ref, messageId })
    await service.sessions.erase({ ...ref, sessionId: 's' })
    await clock.advance(0)
    expect(sweeps).toBe(2) // The first sweep was full, so a second one follows.
    storage.fail('messages.sweep')
    Object.assign(storage.messages, { sweep })
    await clock.advance(60_000)
    expect(telemetry.facts.filter(({ name }) => name === 'store.unavailable')).toHaveLength(1)
  })
})
