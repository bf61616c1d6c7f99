import { expect } from 'vitest'
import type { TokenTake } from '@org/agent-messaging-core/storage'
import { newMessage, PROJECT_ID } from '../../builders.js'
import { LEASE_MS, NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const take = (burst: number, bucket = 'project p'): TokenTake => ({
  bucket,
  of: 'project',
  limit: { messagesPerMinute: 60, burst },
})

export function sendLimitsSuite(it: StorageTest): void {
  it('refuses a message of an empty bucket, and stores nothing', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const takes = [take(1)]
    const first = await storage.messages.accept(newMessage(agent, { takes }))
    expect(first).toMatchObject({ kind: 'created', levels: [{ remaining: 0, retryInMs: 1_000 }] })
    const refused = newMessage(agent, { sessionId: 'b', takes, claimUntil: NOW + LEASE_MS })
    expect(await storage.messages.accept(refused)).toMatchObject({
      kind: 'rate_limited',
      levels: [{ of: 'project', remaining: 0, retryInMs: 1_000 }],
    })
    expect(await storage.messages.find([refused.id])).toEqual([])
    const later = await storage.messages.accept({ ...refused, now: NOW + 1_000 })
    expect(later).toMatchObject({ kind: 'claimed', levels: [{ remaining: 0 }] })
  })

  it('takes no token for a replay', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const takes = [take(1)]
    const message = newMessage(agent, { idempotencyKey: 'key', takes })
    await storage.messages.accept(message)
    expect((await storage.messages.accept(message)).kind).toBe('existing')
    const replay = newMessage(agent, { idempotencyKey: 'key', takes })
    expect((await storage.messages.accept(replay)).kind).toBe('existing')
  })

  it('takes no token for a message that is refused', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const takes = [take(2)]
    await storage.messages.accept(newMessage(agent, { takes }))
    const full = await storage.messages.accept(newMessage(agent, { takes }))
    expect(full.kind).toBe('session_full')
    const other = await storage.messages.accept(newMessage(agent, { sessionId: 'b', takes }))
    expect(other).toMatchObject({ kind: 'created', levels: [{ remaining: 0 }] })
  })

  it('fills a bucket again after its limit changed or the clock was set back', async ({
    storage,
    scene,
  }) => {
    const agent = await scene.agent()
    const slow = { ...take(3), limit: { messagesPerMinute: 1, burst: 3 } }
    const accept = (sessionId: string, takes: TokenTake[], now: number) =>
      storage.messages.accept(newMessage(agent, { sessionId, takes, now }))
    for (const session of ['a', 'b', 'c']) await accept(session, [slow], NOW)
    expect((await accept('d', [take(3)], NOW)).kind).toBe('rate_limited')
    expect((await accept('d', [take(3)], NOW + 1_000)).kind).toBe('created')
    const back = NOW - 3_600_000
    expect((await accept('e', [take(3)], back)).kind).toBe('rate_limited')
    expect((await accept('e', [take(3)], back + 1_000)).kind).toBe('created')
    expect((await accept('f', [take(3)], back + 1_000)).kind).toBe('rate_limited')
  })

  it('takes one token for each stored message of a batch', async ({ storage, scene }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const takes = [take(10), take(10, 'key k')]
    const sessions = ['a', 'b', 'a', 'c', 'b', 'd', 'a', 'e']
    const results = await Promise.all(
      sessions.map((sessionId) => storage.messages.accept(newMessage(agent, { sessionId, takes }))),
    )
    const stored = results.filter(({ kind }) => kind === 'created').length
    expect(stored).toBe(5)
    const more = ['f', 'g', 'h', 'i', 'j', 'k'].map((sessionId) =>
      storage.messages.accept(newMessage(agent, { sessionId, takes })),
    )
    const kinds = (await Promise.all(more)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'created')).toHaveLength(10 - stored)
    expect(kinds.filter((kind) => kind === 'rate_limited')).toHaveLength(1)
  })

  it('takes a token of each bucket, or none', async ({ storage, scene }) => {
    const agent = await scene.agent()
    const accept = (sessionId: string, takes: TokenTake[]) =>
      storage.messages.accept(newMessage(agent, { sessionId, takes }))
    await accept('a', [take(2), take(1, 'key k')])
    expect((await accept('b', [take(2), take(1, 'key k')])).kind).toBe('rate_limited')
    const other = await accept('c', [take(2), take(1, 'key l')])
    expect(other).toMatchObject({ kind: 'created', levels: [{ remaining: 0 }, { remaining: 0 }] })
  })

  it('shares a bucket between instances', async ({ storage, second, scene }) => {
    const agent = await scene.agent()
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        (n % 2 === 0 ? storage : second).messages.accept(
          newMessage(agent, { sessionId: `s${n}`, takes: [take(10)] }),
        ),
      ),
    )
    const kinds = results.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'created')).toHaveLength(10)
    expect(kinds.filter((kind) => kind === 'rate_limited')).toHaveLength(20)
  })

  it('keeps the own limits of a project', async ({ storage }) => {
    const { credentials } = storage
    const sendLimits = { project: { messagesPerMinute: 60, burst: 5 } }
    const changed = await credentials.updateProject(PROJECT_ID, { sendLimits })
    expect(changed).toMatchObject({ id: PROJECT_ID, sendLimits })
    expect(await credentials.getProject(PROJECT_ID)).toEqual(changed)
    expect(await credentials.getProject(OTHER_PROJECT_ID)).not.toHaveProperty('sendLimits')
    const { data } = await credentials.listProjects({ limit: 10 })
    expect(data.find(({ id }) => id === PROJECT_ID)).toEqual(changed)
    const cleared = await credentials.updateProject(PROJECT_ID, { sendLimits: {} })
    expect(cleared).not.toHaveProperty('sendLimits')
    const unknown = '00000000-0000-7ffd-8000-000000000000'
    expect(await credentials.updateProject(unknown, { sendLimits })).toBeUndefined()
  })
}
