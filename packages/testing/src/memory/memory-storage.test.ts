import { unwrap } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { anAgent, aProject, newMessage, PROJECT_ID } from '../builders.js'
import { memoryStorage } from './memory-storage.js'

async function storageWithAgent() {
  const storage = memoryStorage()
  const agent = anAgent()
  await storage.credentials.createProject(aProject())
  await storage.agents.create(agent, 1_000)
  return { storage, agent }
}

describe('the memory storage', () => {
  it('copies rows in and out', async () => {
    const { storage, agent } = await storageWithAgent()
    const metadata = { tags: ['a'] }
    const sent = newMessage(agent, { metadata })
    await storage.messages.accept(sent)
    metadata.tags.push('b')
    const ref = { projectId: PROJECT_ID, agentId: agent.id, messageId: sent.id }
    const read = unwrap(await storage.messages.get(ref))
    expect(read?.metadata).toEqual({ tags: ['a'] })
    Object.assign(read?.metadata ?? {}, { tags: [] })
    expect(unwrap(await storage.messages.get(ref))?.metadata).toEqual({ tags: ['a'] })
  })

  it('keeps a metadata key named __proto__', async () => {
    const { storage, agent } = await storageWithAgent()
    const sent = newMessage(agent, { metadata: JSON.parse('{"__proto__":{"admin":true}}') })
    const accepted = unwrap(await storage.messages.accept(sent))
    expect('message' in accepted && Object.keys(accepted.message.metadata ?? {})).toEqual([
      '__proto__',
    ])
  })

  it('completes a call before it returns', () => {
    const storage = memoryStorage()
    void storage.credentials.replaceSetting('a', undefined, 'first')
    const second = storage.credentials.replaceSetting('a', undefined, 'second')
    return expect(second).resolves.toEqual({ ok: true, value: false })
  })

  it('fails the given number of calls without any effect', async () => {
    const storage = memoryStorage()
    storage.fail('credentials.replaceSetting', { times: 2 })
    const calls = ['a', 'b', 'c'].map((value) =>
      storage.credentials.replaceSetting('name', undefined, value),
    )
    const results = await Promise.all(calls)
    expect(results.map((result) => result.ok)).toEqual([false, false, true])
    expect(results[0]).toEqual({
      ok: false,
      error: {
        kind: 'unavailable',
        reason: 'credentials.replaceSetting was told to fail',
      },
    })
    expect(results[2]).toEqual({ ok: true, value: true })
    expect(unwrap(await storage.credentials.readSetting('name'))).toBe('c')
  })

  it('makes the write and loses the answer if the fault takes effect', async () => {
    const { storage, agent } = await storageWithAgent()
    storage.fail('messages.accept', { takesEffect: true })
    const sent = newMessage(agent)
    expect(!(await storage.messages.accept(sent)).ok).toBe(true)
    expect(unwrap(await storage.messages.accept(sent))).toMatchObject({
      kind: 'existing',
      message: { id: sent.id },
    })
  })

  it('fails until the fault ends', async () => {
    const storage = memoryStorage()
    storage.fail('ping', { times: Infinity })
    for (let i = 0; i < 10; i++) expect(!(await storage.ping()).ok).toBe(true)
    storage.fail('ping', { times: 0 })
    expect((await storage.ping()).ok).toBe(true)
  })

  it('reopens with all rows, as after a restart', async () => {
    const { storage, agent } = await storageWithAgent()
    await storage.close()
    expect(!(await storage.agents.get(PROJECT_ID, agent.id)).ok).toBe(true)
    const reopened = storage.reopen()
    expect(unwrap(await reopened.agents.get(PROJECT_ID, agent.id))).toEqual(agent)
  })

  it('fails through one handle and works through another', async () => {
    const storage = memoryStorage()
    const second = storage.reopen()
    storage.fail('ping')
    expect((await second.ping()).ok).toBe(true)
    expect(!(await storage.ping()).ok).toBe(true)
  })
})
