import { expect } from 'vitest'
import type { Message } from '@org/agent-messaging-core'
import { canReturn } from '@org/agent-messaging-core/storage'
import { newMessage } from '../../builders.js'
import { LEASE_MS, NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

export function idempotencySuite(it: StorageTest): void {
  it('G2: returns the message of the key for a second send with any content', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent, { idempotencyKey: 'k', fingerprint: 'first' })
    const again = newMessage(agent, {
      idempotencyKey: 'k',
      fingerprint: 'second',
      message: 'other',
      claimUntil: NOW + LEASE_MS,
    })
    expect(await messages.accept(again)).toEqual({ kind: 'existing', message })
    expect(await scene.reread(again)).toBeUndefined()
  })

  it('G2: another session gets nothing of the message of the key, and stores nothing', async ({
    storage: { messages },
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const same = { idempotencyKey: 'k', fingerprint: 'same' }
    const message = await scene.send(agent, { ...same, sessionId: 'theirs' })
    for (const sessionId of ['other', 'Theirs', 'theirs ', ''.padEnd(256, 'x')]) {
      const other = newMessage(agent, { ...same, sessionId, claimUntil: NOW + LEASE_MS })
      for (const store of [messages, second.messages])
        expect(await store.accept(other)).toEqual({ kind: 'existing', message })
      expect(await scene.reread(other)).toBeUndefined()
      for (const onKeyMismatch of ['reuse', 'reject'] as const)
        expect(canReturn(message, other, onKeyMismatch)).toBe(false)
    }
  })

  it('G2: answers the message as it is now, long after it was answered', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    await scene.answer(await scene.run(agent, { idempotencyKey: 'k' }))
    expect(await messages.accept(newMessage(agent, { idempotencyKey: 'k' }))).toMatchObject({
      kind: 'existing',
      message: { state: { kind: 'responded' } },
    })
  })

  it('G2: a hundred sends with one key, at once and through two instances, make one message', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const sends = Array.from({ length: 100 }, (_, i) =>
      newMessage(agent, {
        idempotencyKey: 'k',
        sessionId: `session ${i % 7}`,
        claimUntil: NOW + LEASE_MS,
      }),
    )
    const accepted = await Promise.all(
      sends.map((message, i) => (i % 2 ? storage : second).messages.accept(message)),
    )
    const stored = accepted.map((answer) => {
      if (answer.kind === 'claimed') return answer.claimed.message
      if ('message' in answer) return answer.message
      throw new Error(answer.kind)
    })
    const [message] = stored
    expect(new Set(stored.map(({ id }) => id)).size).toBe(1)
    expect(accepted.filter(({ kind }) => kind !== 'existing')).toHaveLength(1)
    const answered = sends.filter((send, i) => canReturn(stored[i] as Message, send, 'reuse'))
    expect(answered).toEqual(sends.filter(({ sessionId }) => sessionId === message?.sessionId))
  })

  it('G2: a send repeated with its own id, as after a lost answer, makes no second message', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const sent = newMessage(agent)
    await messages.accept(sent)
    const kept = await scene.reread(sent)
    expect(await messages.accept(sent)).toEqual({ kind: 'existing', message: kept })
  })

  it('a claim is not handed out again to the send that is repeated', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const sent = newMessage(agent, { claimUntil: NOW + LEASE_MS })
    await messages.accept(sent)
    expect(await messages.accept(sent)).toMatchObject({
      kind: 'existing',
      message: { attempt: 1, state: { kind: 'running' } },
    })
  })

  it('tells keys apart by every character', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    for (const idempotencyKey of ['k', 'K', 'k ', ' k', '%', '_']) {
      expect(await messages.accept(newMessage(agent, { idempotencyKey }))).toMatchObject({
        kind: 'created',
      })
    }
  })

  it('a key belongs to one agent', async ({ storage: { messages }, scene }) => {
    await scene.send(await scene.agent(), { idempotencyKey: 'k' })
    expect(
      await messages.accept(newMessage(await scene.agent(), { idempotencyKey: 'k' })),
    ).toMatchObject({ kind: 'created' })
  })

  it('G6: a key of another project finds nothing', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    await scene.send(agent, { idempotencyKey: 'k' })
    const stranger = newMessage(
      { id: agent.id, projectId: OTHER_PROJECT_ID },
      { idempotencyKey: 'k' },
    )
    expect(await messages.accept(stranger)).toEqual({ kind: 'agent_not_found' })
  })

  it('still answers when the agent has stopped since', async ({
    storage: { messages, agents },
    scene,
  }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent, { idempotencyKey: 'k' })
    await agents.changeState({ agentId: agent.id, from: 'running', to: { kind: 'stopped' } })
    expect(await messages.accept(newMessage(agent, { idempotencyKey: 'k' }))).toEqual({
      kind: 'existing',
      message,
    })
    expect(await messages.accept(newMessage(agent, { idempotencyKey: 'new' }))).toEqual({
      kind: 'agent_not_running',
    })
  })

  it('still answers when the session has filled up since', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const message = await scene.send(agent, { idempotencyKey: 'k' })
    expect(await messages.accept(newMessage(agent, { idempotencyKey: 'k' }))).toEqual({
      kind: 'existing',
      message,
    })
    expect(await messages.accept(newMessage(agent, { idempotencyKey: 'new' }))).toEqual({
      kind: 'session_full',
    })
  })

  it('a send that was refused leaves its key free', async ({
    storage: { messages, agents },
    scene,
  }) => {
    const agent = await scene.agent({ state: { kind: 'starting' } })
    expect(await messages.accept(newMessage(agent, { idempotencyKey: 'k' }))).toEqual({
      kind: 'agent_not_running',
    })
    await agents.changeState({
      agentId: agent.id,
      from: 'starting',
      to: { kind: 'running', startedAt: NOW },
    })
    expect(await messages.accept(newMessage(agent, { idempotencyKey: 'k' }))).toMatchObject({
      kind: 'created',
    })
  })
}
