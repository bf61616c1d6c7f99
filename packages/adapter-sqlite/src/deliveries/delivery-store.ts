import type { Database } from 'better-sqlite3'
import type { DeliveryStore } from '@org/agent-messaging-core/storage'
import {
  deliveryEnds,
  deliveryLists,
  deliveryRemovals,
  findDelivery,
  listDeliveries,
} from '@org/agent-messaging-sql-kit'
import { dueClaims } from './claim-due.js'
import type { GroupCommitter } from '../database/group-committer.js'
import { publisherOf, type FanOut } from '../events/fan-out.js'
import { attemptRecords } from './record-attempt.js'
import { runnerOf, type Perform } from '../database/operations.js'
import type { CountEntries } from '../messages/counts.js'
import type { WebhookRows } from '../webhooks/receivers.js'

type Parts = {
  readonly webhooks: WebhookRows
  readonly fanOut: FanOut
  readonly counts: CountEntries
  readonly perform: Perform
}

export function deliveryStore(
  db: Database,
  committer: GroupCommitter,
  { webhooks, fanOut, counts, perform }: Parts,
): DeliveryStore {
  const claimDue = dueClaims(db, webhooks)
  const recordAttempt = attemptRecords(db, { fanOut, webhooks, counts })
  const publishTo = publisherOf(db, webhooks, perform)

  const runner = runnerOf(committer, perform, () => webhooks.changed())
  const plain = runnerOf(committer, perform)
  const { registerSender, cancelOrphans, cancelStale } = deliveryEnds(plain)
  const { purge } = deliveryRemovals(plain)
  return {
    ...deliveryLists(runner),
    ...deliveryEnds(runner),
    ...deliveryRemovals(runner),
    // These run beside sends, and change no webhook.
    registerSender,
    cancelOrphans,
    cancelStale,
    purge,
    claimDue: (query) => committer.write(() => claimDue(query)),
    recordAttempts: (records) => committer.write(() => records.map(recordAttempt)),
    publishTo: (webhookId, event, deliveryId, claim) =>
      committer.write(() => {
        const { projectId } = event
        const claims = publishTo(webhookId, event, deliveryId, claim)
        const delivery = claims && perform(findDelivery, { projectId, deliveryId })
        return delivery && { delivery, claims }
      }),
    ofMessages: (query) =>
      committer.read(() =>
        query.messageIds.flatMap((messageId) => {
          const { data } = perform(
            listDeliveries,
            { projectId: query.projectId, messageId },
            { limit: query.limit },
          )
          return data.map((delivery) => ({ messageId, delivery }))
        }),
      ),
  }
}

/**
 * Makes claimed deliveries due, and lets open circuits be probed that a claimed probe holds open.
 * Returns the number of deliveries.
 */
export function releaseDeliveries(db: Database): number {
  // Their shares of the limits are free at once.
  db.exec('delete from senders')
  // A probe holds its circuit open to the end of its lease. The creation time is in the past by any
  // clock.
  db.exec(`
    update webhooks set circuit_until = created_at
    where (seq, circuit_until) in (select receiver_seq, due_at from deliveries where due_at is not null and is_claimed = 1)`)
  const release = db.prepare(
    'update deliveries set is_claimed = 0, due_at = created_at where due_at is not null and is_claimed = 1',
  )
  return release.run().changes
}
