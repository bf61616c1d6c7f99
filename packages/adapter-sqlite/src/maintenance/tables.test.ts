import { anAgent, anEvent, aWebhook, fakeIds, PROJECT_ID } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { tempFile } from '../../test/temp-file.js'
import { openSqliteStorage, readSqliteTables } from '../index.js'

it('a delivery that was cancelled while it was claimed is read as cancelled', async () => {
  const path = tempFile()
  const storage = openSqliteStorage({ path })
  const agent = anAgent()
  const deliveryId = fakeIds().next()
  await storage.agents.create(agent, 1)
  await storage.webhooks.create(aWebhook(), 1)
  await storage.agents.changeState({
    agentId: agent.id,
    from: 'running',
    to: agent.state,
    outgoing: {
      events: [anEvent(agent)],
      nextDeliveryId: () => deliveryId,
      claim: { until: Number.MAX_SAFE_INTEGER, except: new Set() },
    },
  })
  await storage.deliveries.cancel(PROJECT_ID, deliveryId, 1)
  await storage.close()

  const states = await readSqliteTables({
    path,
    work: async (tables) => {
      const table = tables.find(({ name }) => name === 'deliveries')
      const at = table?.columns.indexOf('state') ?? -1
      return Array.from(table?.rows ?? [], (row) => row[at])
    },
  })
  expect(states).toEqual(['cancelled'])
})
