import type { Database } from 'better-sqlite3'
import type {
  DeliveryAttempt,
  DeliveryDetail,
  DeliveryStore,
  ReleasedClaim,
  Instant,
} from '@org/agent-messaging-core/storage'
import { attemptActivity } from './activity.js'
import { deliveryBacklog } from './backlog.js'
import { staleDeliveries } from './cancel-stale.js'
import { dueClaims } from './claim-due.js'
import type { Committer } from './committer.js'
import { deliveryList } from './delivery-list.js'
import { selectDeliveryWithBody, toDelivery, type DeliveryRowWithBody } from './delivery-row.js'
import { principalDeliveries } from './erase-principal.js'
import { probeRelease } from './probe-readiness.js'
import { publisherOf, type FanOut } from './fan-out.js'
import { toHeaders } from './kept-headers.js'
import { attemptRecords } from './record-attempt.js'
import { deliveryPurge } from './purge.js'
import { redelivery } from './redelivery.js'
import { atMost } from './statements.js'
import type { WebhookRows } from './webhook-rows.js'

type AttemptRow = Omit<DeliveryAttempt, 'outcome' | 'requestHeaders'> & {
  readonly outcome: string
  readonly headerNames: string | null
  readonly headerValues: string | null
}

type Release = { readonly deliveryId: string; readonly token: number; readonly now: Instant }

/** The delivery, if the claim still holds. */
const HELD = 'id = @deliveryId and lease = @token and is_claimed = 1 and due_at is not null'

type Parts = { readonly webhooks: WebhookRows; readonly fanOut: FanOut }

export function deliveryStore(
  db: Database,
  { read, write, writeAlong }: Committer,
  { webhooks, fanOut }: Parts,
): DeliveryStore {
  const claimDue = dueClaims(db, webhooks)
  const recordAttempt = attemptRecords(db, fanOut, webhooks)
  const list = deliveryList(db)
  const { redeliver, cancel } = redelivery(db, webhooks)
  const publishTo = publisherOf(db, webhooks)
  const cancelStale = staleDeliveries(db)
  const purge = deliveryPurge(db)
  const erasePrincipal = principalDeliveries(db, webhooks)
  const activity = attemptActivity(db)
  const backlog = deliveryBacklog(db)
  const one = db.prepare<[string, string], DeliveryRowWithBody>(
    `${selectDeliveryWithBody} where d.id = ? and d.project_id = ?`,
  )
  const attemptsOf = db.prepare<[number], AttemptRow>(`
    select attempt_number as attemptNumber, started_at as startedAt, duration_ms as durationMs, outcome,
      n.names as headerNames, header_values as headerValues
    from attempts left join header_names n on n.seq = header_names_seq where delivery_seq = ? order by attempt_number`)
  const release = db.prepare<[Release]>(
    `update deliveries set is_claimed = 0, due_at = @now where ${HELD}`,
  )
  const releaseProbe = probeRelease(db, webhooks, HELD)
  const cancelOrphans = db.prepare<{ now: number; limit: number }>(`
    update deliveries set state = 'cancelled', due_at = null, finished_at = @now, cancelled_reason = 'webhook_deleted' where seq in
      (select d.seq from webhooks w cross join deliveries d on d.webhook_seq = w.seq
       where w.is_deleted = 1 and d.due_at is not null ${atMost('@limit')})`)

  /** In a transaction of its own, so that another process's attempt does not come between. */
  const getDetail = db.transaction(
    (projectId: string, deliveryId: string): DeliveryDetail | undefined => {
      const row = one.get(deliveryId, projectId)
      return (
        row && {
          delivery: toDelivery(row),
          body: row.body,
          attempts: attemptsOf.all(row.seq).map(toAttempt),
        }
      )
    },
  )

  function releaseClaim({ isProbe, ...claim }: ReleasedClaim, now: Instant): boolean {
    if (isProbe) releaseProbe({ ...claim, now })
    return release.run({ ...claim, now }).changes > 0
  }

  return {
    claimDue: (query) => write(() => claimDue(query)),
    // A verdict on the webhook is waited for; the end of a delivery is news to nobody.
    recordAttempt: (record) =>
      (record.decideHealth ? write : writeAlong)(() => recordAttempt(record)),
    release: (claims, now) =>
      write(() => claims.filter((claim) => releaseClaim(claim, now)).length),
    publishTo: (webhookId, event, deliveryId) =>
      write(() => {
        const row = publishTo(webhookId, event, deliveryId)
          ? one.get(deliveryId, event.projectId)
          : undefined
        return row && toDelivery(row)
      }),
    redeliver: (filter, page, now) => write(() => redeliver(filter, page, now)),
    cancel: (projectId, deliveryId, now) =>
      write(() => {
        const done = cancel(projectId, deliveryId, now)
        const row = one.get(deliveryId, projectId)
        return row && (done ? toDelivery(row) : 'already_final')
      }),
    get: (projectId, deliveryId) => read(() => getDetail(projectId, deliveryId)),
    list: (filter, page) => read(() => list(filter, page)),
    cancelOrphans: (query) => write(() => cancelOrphans.run(query).changes),
    cancelStale: (query) => write(() => cancelStale(query)),
    purge: (query) => write(() => purge(query)),
    // Between two writes everybody else has a turn, which reads one after the other leave to nobody.
    erasePrincipal: (step) => write(() => erasePrincipal(step)),
    backlog: (now) => read(() => backlog(now)),
    activity: (query) => read(() => activity(query)),
  }
}

const toAttempt = ({
  headerNames,
  headerValues,
  outcome,
  ...row
}: AttemptRow): DeliveryAttempt => ({
  ...row,
  ...toHeaders(headerNames, headerValues),
  outcome: JSON.parse(outcome) as DeliveryAttempt['outcome'],
})

/** Makes due what is being sent, and half-open the circuits that are being probed. */
export function releaseDeliveries(db: Database): void {
  // A probe's circuit was open to the end of its lease. Due since they exist is past by any clock.
  db.exec(`
    update webhooks set circuit_until = created_at
    where (seq, circuit_until) in (select webhook_seq, due_at from deliveries where due_at is not null and is_claimed = 1)`)
  db.exec(
    'update deliveries set is_claimed = 0, due_at = created_at where due_at is not null and is_claimed = 1',
  )
}
