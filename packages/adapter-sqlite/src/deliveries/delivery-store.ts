import type { Database } from 'better-sqlite3'
import {
  toAttempt,
  toDelivery,
  type AttemptRow,
  type DeliveryDetail,
  type DeliveryRowWithBody,
  type DeliveryStore,
  type Instant,
  type SenderLease,
} from '@org/agent-messaging-core/storage'
import {
  deliveryEnds,
  deliveryList,
  deliveryLists,
  deliveryRemovals,
  fromDeliveries,
  listDeliveries,
} from '@org/agent-messaging-sql-kit'
import { attemptActivity } from '../messages/activity.js'
import { dueClaims } from './claim-due.js'
import type { Committer } from '../database/committer.js'
import { publisherOf, type FanOut } from '../events/fan-out.js'
import { attemptRecords } from './record-attempt.js'
import { dialect, runnerOf, type Perform } from '../database/operations.js'
import type { UsageRows } from '../messages/usage-store.js'
import type { WebhookRows } from '../webhooks/receivers.js'

type Parts = {
  readonly webhooks: WebhookRows
  readonly fanOut: FanOut
  readonly usage: UsageRows
  readonly perform: Perform
}

export function deliveryStore(
  db: Database,
  committer: Committer,
  { webhooks, fanOut, usage, perform }: Parts,
): DeliveryStore {
  const claimDue = dueClaims(db, webhooks)
  const recordAttempt = attemptRecords(db, { fanOut, webhooks, usage })
  const publishTo = publisherOf(db, webhooks, perform)
  const activity = attemptActivity(db)
  const registerSender = senderRegister(db)
  const sql = prepare(db)

  const getDetail = db.transaction(detailReader(sql))

  const runner = runnerOf(committer, perform, () => webhooks.changed())
  return {
    ...deliveryLists(runner),
    ...deliveryEnds(runner),
    ...deliveryRemovals(runner),
    claimDue: (query) => committer.write(() => claimDue(query)),
    registerSender: (sender) => committer.write(() => registerSender(sender)),
    recordAttempts: (records) => committer.write(() => records.map(recordAttempt)),
    publishTo: (webhookId, event, deliveryId) =>
      committer.write(() => {
        const row = publishTo(webhookId, event, deliveryId)
          ? sql.one.get(deliveryId, event.projectId)
          : undefined
        return row && toDelivery(row)
      }),
    get: (projectId, deliveryId) => committer.read(() => getDetail(projectId, deliveryId)),
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
    activity: (query) => committer.read(() => activity(query)),
  }
}

/** In a transaction, so that no attempt of another process is stored between the two reads. */
const detailReader =
  (sql: ReturnType<typeof prepare>) =>
  (projectId: string, deliveryId: string): DeliveryDetail | undefined => {
    const row = sql.one.get(deliveryId, projectId)
    const attempts = row ? sql.attemptsOf.all(row.seq).map(toAttempt) : []
    return row && { delivery: toDelivery(row), body: row.body, attempts }
  }

/** `DeliveryStore.registerSender`, in a transaction. */
function senderRegister(db: Database): (sender: SenderLease) => string[] {
  const put = db.prepare<[string, Instant]>(
    'insert into senders (id, until) values (?, ?) on conflict (id) do update set until = excluded.until',
  )
  const drop = db.prepare<[Instant]>('delete from senders where until <= ?')
  const all = db.prepare<[], string>('select id from senders order by id').pluck()
  return ({ id, now, until }) => {
    put.run(id, until)
    drop.run(now)
    return all.all()
  }
}

const prepare = (db: Database) => ({
  one: db.prepare<[string, string], DeliveryRowWithBody>(
    `select ${deliveryList(dialect)}, e.body, e.trace ${fromDeliveries(dialect)} where d.id = ? and d.project_id = ?`,
  ),
  attemptsOf: db.prepare<[number], AttemptRow>(`
    select attempt_number as attemptNumber, started_at as startedAt, duration_ms as durationMs, url, outcome,
      n.names as headerNames, header_values as headerValues
    from attempts left join header_names n on n.seq = header_names_seq where delivery_seq = ? order by attempt_number`),
})

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
    where (seq, circuit_until) in (select webhook_seq, due_at from deliveries where due_at is not null and is_claimed = 1)`)
  const release = db.prepare(
    'update deliveries set is_claimed = 0, due_at = created_at where due_at is not null and is_claimed = 1',
  )
  return release.run().changes
}
