import { fakeIds, PROJECT_ID, unwrap } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { openSqliteStorage } from '../open.js'

it('a list of recoveries ends before it counts too many deliveries', async () => {
  const { recoveries, close } = openSqliteStorage({ path: ':memory:' })
  const sizes = [70_000, 40_000, 60_000, 200_000]
  const { next } = fakeIds()
  const ids: string[] = []
  for (const redelivered of sizes) {
    const id = next()
    const task = {
      id,
      projectId: PROJECT_ID,
      filter: { status: 'exhausted', createdBefore: 1 },
      state: { kind: 'running' },
      matched: redelivered,
      redelivered,
      createdAt: 1,
    } as const
    unwrap(await recoveries.create(task, 10))
    ids.unshift(id)
  }
  const pages: string[][] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = { limit: 9, ...(cursor !== undefined && { cursor }) }
    const { data, nextCursor } = unwrap(await recoveries.list(PROJECT_ID, page))
    pages.push(data.map(({ id }) => id))
    cursor = nextCursor
  }
  expect(pages).toEqual([ids.slice(0, 1), ids.slice(1, 3), ids.slice(3)])
  await close()
})
