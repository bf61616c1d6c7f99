import { expect } from 'vitest'
import type { Agent, Page } from '@org/agent-messaging-core'
import type { PageOf } from '@org/agent-messaging-core/storage'
import { anApiKey, aProject, PROJECT_ID } from '../../builders.js'
import { fakeIds } from '../../fakes/fake-ids.js'
import { OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

type Row = { readonly id: string }

/**
 * All ids, read page by page; fails when a page is longer than asked for or the pages have no end.
 */
async function readAll(
  list: (page: PageOf) => Promise<Page<Row>>,
  limit: number,
): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | undefined, pages = 0; pages < 20; pages++) {
    const { data, nextCursor } = await list({ limit, ...(cursor !== undefined && { cursor }) })
    expect(data.length).toBeLessThanOrEqual(limit)
    ids.push(...data.map(({ id }) => id))
    if (nextCursor === null) return ids
    expect(nextCursor).toBe(data.at(-1)?.id)
    cursor = nextCursor
  }
  throw new Error('the pages have no end')
}

async function createdInTurn<T>(
  indices: readonly number[],
  create: (index: number) => Promise<T>,
): Promise<T[]> {
  const created: T[] = []
  for (const index of indices) created.push(await create(index))
  return created
}

const newestFirst = (rows: readonly Row[]): string[] => rows.map(({ id }) => id).toReversed()

const LIMITS = [1, 2, 3, 5, 6] as const

export function pagingSuite(it: StorageTest): void {
  it.for(LIMITS)(
    'give five of everything, newest first, %i at a time',
    async (limit, { storage, scene }) => {
      const { messages, deliveries, webhooks, agents, credentials } = storage
      const five = <T>(create: (index: number) => Promise<T>): Promise<T[]> =>
        createdInTurn([0, 1, 2, 3, 4], create)
      const createdAgents = await five(() => scene.agent())
      const createdKeys = await five(async (index) => {
        const key = anApiKey()
        await credentials.createKey(key, `${index}`.repeat(64), 1_000)
        return key
      })
      const [agent] = createdAgents as [Agent]
      const createdMessages = await five(() => scene.send(agent))
      const createdWebhooks = await five(() => scene.webhook())
      await scene.publish(agent)

      expect(await readAll((page) => agents.list(PROJECT_ID, page), limit)).toEqual(
        newestFirst(createdAgents),
      )
      expect(await readAll((page) => credentials.listKeys(PROJECT_ID, page), limit)).toEqual(
        newestFirst(createdKeys),
      )
      expect(
        await readAll(
          (page) => messages.list({ projectId: PROJECT_ID, agentId: agent.id }, page),
          limit,
        ),
      ).toEqual(newestFirst(createdMessages))
      expect(await readAll((page) => webhooks.list(PROJECT_ID, page), limit)).toEqual(
        newestFirst(createdWebhooks),
      )
      const deliveryIds = await readAll(
        (page) => deliveries.list({ projectId: PROJECT_ID }, page),
        limit,
      )
      expect(deliveryIds).toHaveLength(5)
      expect(deliveryIds).toEqual(deliveryIds.toSorted().toReversed())
    },
  )

  it('give projects, oldest first', async ({ storage: { credentials } }) => {
    const ids = fakeIds()
    const created = Array.from({ length: 3 }, () => ids.next())
    for (const id of created) await credentials.createProject(aProject({ id }))
    const all = [PROJECT_ID, OTHER_PROJECT_ID, ...created]
    for (const limit of LIMITS)
      expect(await readAll((page) => credentials.listProjects(page), limit)).toEqual(all)
  })

  it('are one empty page when there is nothing', async ({ storage: { webhooks } }) => {
    expect(await webhooks.list(PROJECT_ID, { limit: 5 })).toEqual({ data: [], nextCursor: null })
  })

  it('end with the last row, also when it fills the page', async ({
    storage: { webhooks },
    scene,
  }) => {
    await scene.webhook()
    await scene.webhook()
    expect((await webhooks.list(PROJECT_ID, { limit: 2 })).nextCursor).toBeNull()
  })

  it('continue at the place of a row that was deleted', async ({
    storage: { webhooks, agents },
    scene,
  }) => {
    const [w1, w2, w3] = [await scene.webhook(), await scene.webhook(), await scene.webhook()]
    await webhooks.delete(PROJECT_ID, w2.id)
    expect((await webhooks.list(PROJECT_ID, { limit: 5, cursor: w2.id })).data).toEqual([w1])
    expect((await webhooks.list(PROJECT_ID, { limit: 5, cursor: w3.id })).data).toEqual([w1])

    const [a1, a2] = [await scene.agent(), await scene.agent()]
    await agents.delete(PROJECT_ID, a2.id)
    expect((await agents.list(PROJECT_ID, { limit: 5, cursor: a2.id })).data).toEqual([a1])
  })

  it('show no row twice when new ones come in between', async ({
    storage: { webhooks },
    scene,
  }) => {
    const [w1, w2] = [await scene.webhook(), await scene.webhook()]
    const first = await webhooks.list(PROJECT_ID, { limit: 1 })
    await scene.webhook()
    expect(first.data).toEqual([w2])
    expect((await webhooks.list(PROJECT_ID, { limit: 5, cursor: w2.id })).data).toEqual([w1])
  })
}
