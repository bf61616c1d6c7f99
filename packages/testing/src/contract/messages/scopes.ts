import { expect } from 'vitest'
import type { Agent, Message, Page } from '@org/agent-messaging-core'
import type {
  MessageFilter,
  MessageSearch,
  PageOf,
  SessionScope,
} from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { MINUTE, NOW, refTo, type Scene } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const LIMITS = [3, 50]
const SESSIONS = [
  ...['user-1/a', 'user-1/b', 'user-1/', 'user-1', 'user-10/a', 'User-1/a', 'user-1:a'],
  ...['user-1/é', 'user-1/\u{10ffff}', 'user-0/a', 'ü:1', 'ü:', 'ü', 'u_', 'u_1', 'u.1'],
]
const SCOPES: readonly [SessionScope, readonly string[]][] = [
  [{ prefix: 'user-1/' }, ['user-1/a', 'user-1/b', 'user-1/', 'user-1/é', 'user-1/\u{10ffff}']],
  [{ prefix: 'user-1:' }, ['user-1:a']],
  [{ prefix: 'user-' }, SESSIONS.filter((id) => id.startsWith('user-'))],
  [{ prefix: 'ü:' }, ['ü:1', 'ü:']],
  [{ prefix: 'u_' }, ['u_', 'u_1']],
  [{ prefix: 'u.' }, ['u.1']],
  [{ prefix: 'nothing/' }, []],
  [{ ids: ['user-10/a', 'ü', 'unknown', "it's"] }, ['user-10/a', 'ü']],
  [{ ids: [] }, []],
]

/** Reads all pages. */
async function all<T>(list: (page: PageOf) => Promise<Page<T>>, limit: number): Promise<T[]> {
  const found: T[] = []
  let cursor: string | null | undefined
  for (let pages = 0; cursor !== null; pages++) {
    if (pages > 100) throw new Error('the pages have no end')
    const { data, nextCursor } = await list({ limit, ...(cursor !== undefined && { cursor }) })
    expect(data.length).toBeLessThanOrEqual(limit)
    found.push(...data)
    cursor = nextCursor
  }
  return found
}

const idsOf = (messages: readonly Message[]): string[] => messages.map(({ id }) => id)

/** Sends to all sessions of two agents, twice. Cancels some messages, and retries the oldest. */
async function sendMany(scene: Scene, retry: (message: Message) => Promise<unknown>) {
  const agents: [Agent, Agent] = [await scene.agent(), await scene.agent()]
  const sent: Message[] = []
  for (const round of [0, 1])
    for (const [index, sessionId] of SESSIONS.entries())
      for (const agent of agents) {
        const executionPrincipal = { type: 'end_user', endUserId: `u${index % 2}` } as const
        const metadata = { correlationId: `c${index % 3}` }
        const now = NOW + (round * SESSIONS.length + index) * MINUTE
        sent.push(await scene.send(agent, { sessionId, executionPrincipal, metadata, now }))
      }
  for (const message of sent.filter((_, index) => index % 5 === 0)) await scene.cancel(message)
  for (const message of sent.slice(0, 1)) await retry(message)
  return agents
}

export function scopesSuite(it: StorageTest): void {
  it('list the sessions of a scope, the one with the newest message first', async ({
    storage: { messages },
    scene,
  }) => {
    const [agent] = await sendMany(scene, () => Promise.resolve())
    const ref = { projectId: PROJECT_ID, agentId: agent.id }
    const everything = await messages.listSessions(ref, { limit: 50 })
    for (const [scope, ids] of SCOPES)
      for (const limit of LIMITS) {
        const seen = await all((page) => messages.listSessions({ ...ref, scope }, page), limit)
        expect(seen).toEqual(everything.data.filter(({ sessionId }) => ids.includes(sessionId)))
      }
  })

  it('list and count the messages of a scope as the whole list has them', async ({
    storage: { messages },
    scene,
  }) => {
    const [agent] = await sendMany(scene, (message) =>
      messages.retry({ ...refTo(message), now: NOW }),
    )
    const ref = { projectId: PROJECT_ID, agentId: agent.id }
    const filters: Omit<MessageFilter, 'projectId' | 'agentId'>[] = [
      {},
      { order: 'asc' },
      { status: 'pending', progress: 'waiting' },
      { state: 'cancelled', order: 'asc' },
      { changedFrom: NOW + 3 * MINUTE },
      { sessionId: 'user-1/a' },
      { sessionId: 'ü', order: 'asc' },
    ]
    for (const filter of filters) {
      const everything = (await messages.list({ ...ref, ...filter }, { limit: 50 })).data
      expect(everything.length).toBeGreaterThan(0)
      for (const [scope, ids] of SCOPES) {
        const scoped = { ...ref, ...filter, scope }
        const expected = idsOf(everything.filter(({ sessionId }) => ids.includes(sessionId)))
        expect(await messages.count(scoped, 50)).toBe(expected.length)
        for (const limit of LIMITS)
          expect(idsOf(await all((page) => messages.list(scoped, page), limit))).toEqual(expected)
      }
    }
  })

  it('search the messages of a scope and of some agents', async ({
    storage: { messages },
    scene,
  }) => {
    const [, other] = await sendMany(scene, () => Promise.resolve())
    const searches: Omit<MessageSearch, 'projectId'>[] = [
      {},
      { endUserId: 'u0' },
      { endUserId: 'u1', correlationId: 'c1' },
      { correlationId: 'c2', state: 'cancelled' },
      { status: 'pending', state: 'queued', createdAfter: NOW + MINUTE },
      { createdBefore: NOW + 20 * MINUTE, text: 'H' },
      { sessionId: 'user-1/a' },
      { sessionId: 'ü', text: 'h' },
    ]
    for (const search of searches) {
      const everything = await all(
        (page) => messages.search({ projectId: PROJECT_ID, ...search }, page),
        50,
      )
      expect(everything.length).toBeGreaterThan(0)
      for (const [scope, ids] of [...SCOPES.slice(0, 3), ...SCOPES.slice(-2)])
        for (const agentIds of [undefined, [other.id, 'unknown'], []]) {
          const scoped = { ...search, projectId: PROJECT_ID, scope, ...(agentIds && { agentIds }) }
          const expected = everything.filter(
            ({ sessionId, agentId }) =>
              ids.includes(sessionId) && (agentIds?.includes(agentId) ?? true),
          )
          for (const limit of LIMITS) {
            const seen = await all((page) => messages.search(scoped, page), limit)
            expect(idsOf(seen)).toEqual(idsOf(expected))
          }
        }
    }
  })

  it('find a message by its id only in its scope', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const { id: messageId } = await scene.send(agent, { sessionId: 'user-1/a' })
    const found = async (search: Partial<MessageSearch>) =>
      (await messages.search({ projectId: PROJECT_ID, messageId, ...search }, { limit: 5 })).data
        .length
    expect(await found({ scope: { prefix: 'user-1/' } })).toBe(1)
    expect(await found({ scope: { prefix: 'user-10/' } })).toBe(0)
    expect(await found({ agentIds: [agent.id] })).toBe(1)
    expect(await found({ agentIds: ['another'] })).toBe(0)
  })

  it('do not show erased sessions of a scope', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const [erased, kept] = [
      await scene.send(agent, { sessionId: 'u/1' }),
      await scene.send(agent, { sessionId: 'u/2' }),
    ]
    await scene.cancel(erased)
    const ref = { projectId: PROJECT_ID, agentId: agent.id }
    await messages.erase({ ...ref, sessionId: 'u/1' })
    const scope = { prefix: 'u/' }
    const pages = [
      await messages.list({ ...ref, scope }, { limit: 5 }),
      await messages.search({ projectId: PROJECT_ID, scope }, { limit: 5 }),
    ]
    for (const { data } of pages) expect(idsOf(data)).toEqual([kept.id])
    expect((await messages.listSessions({ ...ref, scope }, { limit: 5 })).data).toHaveLength(1)
  })
}
