import { MessagingError } from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

describe('a call of the service', () => {
  it('returns the value of a call that succeeds', async () => {
    const { service, ref } = await scene()
    const agent = await service.agents.get(ref)
    expect(agent.name).toBe('bot')
  })

  it('throws a MessagingError with the kind, the details and a readable message', async () => {
    const { service, ref } = await scene()
    const sending = service.messages.send({ ...ref, sessionId: '', message: 'hello' })
    const error = await sending.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(MessagingError)
    expect(error).toMatchObject({ kind: 'invalid', name: 'MessagingError' })
    expect((error as MessagingError).message).toMatch(/^sessionId /)
    expect((error as MessagingError).details).toEqual({
      kind: 'invalid',
      issues: [{ path: 'sessionId', message: expect.any(String) }],
    })
  })

  it.each([
    ['agent_not_found', 'No such agent', { agent: 'nope' }],
    [
      'principal_invalid',
      'executionPrincipal is invalid: must be an object',
      { executionPrincipal: 1 },
    ],
  ])('words %s', async (kind, message, more) => {
    const { service, ref } = await scene()
    const input = { ...ref, sessionId: 's', message: 'hello', ...more }
    await expect(service.messages.send(input)).rejects.toMatchObject({ kind, message })
  })

  it('words an agent that does not run, and an unavailable storage', async () => {
    const { service, ref, storage } = await scene()
    const input = { ...ref, sessionId: 's', message: 'hello' }
    await service.agents.stop(ref)
    await expect(service.messages.send(input)).rejects.toThrow(
      'The agent is not running: its state is stopped',
    )
    storage.fail('agents.get')
    await expect(service.agents.get(ref)).rejects.toMatchObject({ kind: 'unavailable' })
    await storage.close()
    await expect(service.agents.get(ref)).rejects.toMatchObject({ kind: 'stopped' })
  })

  it('explains that the storage does not confirm a message', async () => {
    const { service, ref, storage, clock } = await scene()
    storage.fail('messages.accept', { slowUntil: new Promise(() => undefined) })
    const input = { ...ref, sessionId: 's', message: 'hello' }
    const thrown = service.messages.send(input).catch((error: unknown) => error)
    await clock.advance(5_000)
    expect(String(await thrown)).toContain(
      'the message may be stored. Repeat the send with the same Idempotency-Key',
    )
  })

  it('finds a message over all agents with its deliveries', async () => {
    const handler = () => ({ kind: 'answered', response: 'hi' }) as const
    const { service, ref, hook, send, clock } = await scene({ handler })
    const { webhook } = await hook()
    const metadata = { correlationId: 'c1' }
    const { message } = await send('hello', { metadata })
    await send('other')
    await clock.advance(0)
    const search = { projectId: ref.projectId, correlationId: 'c1', sessionId: undefined }
    const { data, nextCursor } = await service.messages.search(search)
    expect(data).toMatchObject([
      {
        message: { id: message.id, state: { kind: 'responded' } },
        deliveries: [{ webhookId: webhook.id, state: { kind: 'delivered' } }],
      },
    ])
    expect(nextCursor).toBeNull()
  })

  it('can return a value that is no promise', async () => {
    const { service, ref } = await scene()
    expect(service.policy.syncWaitMs).toBe(30_000)
    expect(service.host.now()).toBeGreaterThan(0)
    expect(service.host.isRunToken({ messageId: ref.projectId, runToken: 'amr_1_x' })).toBe(false)
    expect(await service.tick({ budgetMs: 0 })).toMatchObject({ messages: 0 })
    await service.stop()
  })
})
