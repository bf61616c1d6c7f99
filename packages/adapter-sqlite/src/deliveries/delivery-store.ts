import type { Database } from 'better-sqlite3'
import {
  toAttempt,
  toDelivery,
  type AttemptRow,
  type DeliveryDetail,
  type DeliveryRowWithBody,
  type DeliveryStore,
  type Instant,
  type OperatorReason,
  type ReleasedClaim,
  type SenderLease,
} from '@org/agent-messaging-core/storage'
import {
  deliveryList,
  deliveryLists,
  fromDeliveries,
  listDeliveries,
} from '@org/agent-messaging-sql-kit'
import { attemptActivity } from '../messages/activity.js'
import { orphanedDeliveries, staleDeliveries } from './cancel-stale.js'
import { dueClaims } from './claim-due.js'
import { entryOf, type AuditRows } from '../access/recorded.js'
import type { Committer } from '../database/committer.js'
import { principalDeliveries } from '../maintenance/erase-principal.js'
import { probeRelease } from './probe-readiness.js'
import { publisherOf, type FanOut } from '../events/fan-out.js'
import { attemptRecords } from './record-attempt.js'
import { deliveryPurge } from '../maintenance/purge.js'
import { dialect, runnerOf, type Perform } from '../database/operations.js'
import { cancellation } from './cancel-delivery.js'
import type { UsageRows } from '../messages/usage-store.js'
import type { WebhookRows } from '../webhooks/receivers.js'

type Release = { readonly deliveryId: string; readonly token: number; readonly now: Instant }

/** Selects the delivery if the claim is still valid. */
const HELD = 'id = @deliveryId and lease = @token and is_claimed = 1 and due_at is not null'

type Parts = {
  readonly webhooks: WebhookRows
  readonly fanOut: FanOut
  readonly usage: UsageRows
  readonly audit: AuditRows
  readonly perform: Perform
}

export function deliveryStore(
  db: Database,
  committer: Committer,
  { webhooks, fanOut, usage, audit, perform }: Parts,
): DeliveryStore {
  const claimDue = dueClaims(db, webhooks)
  const recordAttempt = attemptRecords(db, { fanOut, webhooks, usage })
  const cancel = cancellation(db, webhooks)
  const publishTo = publisherOf(db, webhooks)
  const cancelStale = staleDeliveries(db)
  const cancelOrphans = orphanedDeliveries(db)
  const purge = deliveryPurge(db)
  const erasePrincipal = principalDeliveries(db, webhooks)
  const activity = attemptActivity(db)
  const releaseProbe = probeRelease(db, webhooks, HELD)
  const registerSender = senderRegister(db)
  const sql = prepare(db)

  const getDetail = db.transaction(detailReader(sql))

  function releaseClaim({ isProbe, ...claim }: ReleasedClaim, now: Instant): boolean {
    if (isProbe) releaseProbe({ ...claim, now })
    return sql.release.run({ ...claim, now }).changes > 0
  }

  /** In a transaction. */
  function end(projectId: string, deliveryId: string, now: Instant, reason: OperatorReason) {
    const done = cancel({ projectId, deliveryId, now, reason })
    const row = sql.one.get(deliveryId, projectId)
    return row && (done ? toDelivery(row) : 'already_final')
  }

  return {
    ...deliveryLists(runnerOf(committer, perform, () => webhooks.changed())),
    claimDue: (query) => committer.write(() => claimDue(query)),
    registerSender: (sender) => committer.write(() => registerSender(sender)),
    recordAttempts: (records) => committer.write(() => records.map(recordAttempt)),
    release: (claims, now) =>
      committer.write(() => claims.filter((claim) => releaseClaim(claim, now)).length),
    publishTo: (webhookId, event, deliveryId) =>
      committer.write(() => {
        const row = publishTo(webhookId, event, deliveryId)
          ? sql.one.get(deliveryId, event.projectId)
          : undefined
        return row && toDelivery(row)
      }),
    cancel: (projectId, deliveryId, now, entry, reason = 'operator') =>
      committer.write(() => audit.recorded(entry, end(projectId, deliveryId, now, reason))),
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
    cancelOrphans: (query) => committer.write(() => cancelOrphans(query)),
    cancelStale: (query) => committer.write(() => cancelStale(query)),
    purge: (query) => committer.write(() => purge(query)),
    // A write even to count, because other operations run between two writes.
    erasePrincipal: (step) =>
      committer.write(() => audit.recordedRows(entryOf(step), erasePrincipal(step), 'deliveries')),
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
  release: db.prepare<[Release]>(
    `update deliveries set is_claimed = 0, due_at = @now where ${HELD}`,
  ),
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
