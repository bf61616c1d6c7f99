import { webhookStore } from '@org/agent-messaging-sql-kit'
import { anAgent, anEvent, aWebhook, fakeIds } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'
import { dueClaims } from './claim-due.js'
import { openConnection } from '../database/connection.js'
import { fanOutOf } from '../events/fan-out.js'
import { migrate } from '../schema/migrate.js'
import { GroupCommitter } from '../database/group-committer.js'
import { performer, runnerOf } from '../database/operations.js'
import { WebhookRows } from '../webhooks/receivers.js'

const NOW = 1_000_000
const QUERY = {
  now: NOW,
  until: NOW + 1,
  limit: 9,
  perWebhook: 9,
  perProject: 9,
  retries: 9,
  rooms: new Map(),
  except: new Set<string>(),
}
const MANY = 2_500

it('a new process finds the one due delivery behind thousands of webhooks without one', async () => {
  const db = openConnection(':memory:', 0)
  migrate(db)
  const rows = new WebhookRows(db)
  const { create } = webhookStore(
    runnerOf(new GroupCommitter(db, { maxQueued: MANY, busyTimeoutMs: 0 }), performer(db), () =>
      rows.changed(),
    ),
  )
  const ids = fakeIds()
  const agent = anAgent()
  await Promise.all(Array.from({ length: MANY }, () => create(aWebhook({ id: ids.next() }), MANY)))
  fanOutOf(db, rows)({ events: [anEvent(agent)], nextDeliveryId: ids.next })
  const claim = dueClaims(db, rows)
  db.exec(`update deliveries set due_at = ${NOW + 1}`)
  expect(claim(QUERY).deliveries).toEqual([])
  db.exec(`update deliveries set due_at = ${NOW} where receiver_seq = ${MANY}`)
  expect(dueClaims(db, rows)(QUERY).deliveries).toHaveLength(1)
  db.close()
})
