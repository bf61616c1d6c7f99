import { anAgent, anEvent, aWebhook, fakeIds, PROJECT_ID } from '@org/agent-messaging-testing'
import type { PageOf, RedeliverFilter } from '@org/agent-messaging-core/storage'
import { listDeliveries, webhookStore } from '@org/agent-messaging-sql-kit'
import { expect, it } from 'vitest'
import { GroupCommitter } from '../database/group-committer.js'
import { openConnection } from '../database/connection.js'
import { fanOutOf } from '../events/fan-out.js'
import { migrate } from '../schema/migrate.js'
import { performer, runnerOf } from '../database/operations.js'
import { WebhookRows } from '../webhooks/receivers.js'

const MOST_READ = 10

/** 35 deliveries of one webhook. The 3rd, the 4th and the 30th are of `agent.error`. */
async function deliveries() {
  const db = openConnection(':memory:', 0)
  migrate(db)
  const ids = fakeIds()
  const agent = anAgent()
  const rows = new WebhookRows(db)
  const perform = performer(db)
  const webhook = aWebhook({ id: ids.next() })
  await webhookStore(
    runnerOf(new GroupCommitter(db, { maxQueued: 1, busyTimeoutMs: 0 }), perform, () =>
      rows.changed(),
    ),
  ).create(webhook, 1)
  const made: string[] = []
  const nextDeliveryId = () => made[made.push(ids.next()) - 1] as string
  const fanOut = fanOutOf(db, rows)
  for (let n = 1; n <= 35; n++) {
    const name = [3, 4, 30].includes(n) ? 'agent.error' : 'agent.started'
    fanOut({ events: [anEvent(agent, { id: ids.next(), name })], nextDeliveryId })
  }
  const list = (filter: RedeliverFilter, page: PageOf) =>
    perform(listDeliveries, filter, page, MOST_READ)
  return { list, made, webhook }
}

it.each<Partial<RedeliverFilter>>([{}, { status: 'pending' }])(
  'a page reads a bounded number of deliveries, and the next page continues after them (%j)',
  async (more) => {
    const { list, made, webhook } = await deliveries()
    for (const where of [{}, { webhookId: webhook.id }]) {
      const pages: string[][] = []
      let cursor: string | null | undefined
      while (cursor !== null) {
        const filter = { projectId: PROJECT_ID, event: 'agent.error', ...more, ...where } as const
        const page = list(filter, { limit: 2, ...(cursor !== undefined && { cursor }) })
        pages.push(page.data.map(({ id }) => id))
        cursor = page.nextCursor
      }
      expect(pages).toEqual([[made[29]], [], [], [made[3], made[2]]])
    }
  },
)

it('a delivery is found by its id among newer deliveries', async () => {
  const { list, made } = await deliveries()
  const [deliveryId = ''] = made
  expect(list({ projectId: PROJECT_ID, deliveryId }, { limit: 1 })).toMatchObject({
    data: [{ id: deliveryId }],
    nextCursor: null,
  })
  expect(list({ projectId: 'another', deliveryId }, { limit: 1 }).data).toEqual([])
})
