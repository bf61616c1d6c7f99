import type { Instant, Webhook } from '@org/agent-messaging-core'
import { success } from '@org/agent-messaging-core/runtime'
import {
  afterAttemptColumns,
  changeWebhook,
  onlySuccess,
  toWebhook,
  webhookColumns,
  type AttemptRecord,
  type DeliveryStore,
  type RecordedAttempt,
  type Stored,
  type WebhookColumns,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import {
  appendCounts,
  selectWebhook,
  updateWebhook,
  webhookList,
} from '@org/agent-messaging-sql-kit'
import type { Gateway, Queries } from '../database/gateway.js'
import { dialect, perform } from '../database/operations.js'
import { jsonRows, sql } from '../database/sql.js'
import { fanOut } from '../events/fan-out.js'
import { countingCall } from '../messages/counts.js'
import { headerNames, type HeaderNames } from './header-names.js'

type DecideHealth = NonNullable<AttemptRecord['decideHealth']>

const updateSql = sql<WebhookColumns>(updateWebhook(dialect))
const lockSql = sql<{ readonly seq: number }, WebhookRow>(
  `${selectWebhook(dialect)} where w.seq = @seq and not w.is_deleted for no key update`,
)
const ofDeliveriesSql = sql<{ readonly ids: readonly string[] }, WebhookOfDelivery>(`
  select d.id as "deliveryId", ${webhookList} from agent_messaging.deliveries d
    join agent_messaging.webhooks w on w.seq = d.receiver_seq
  where d.id = any(@ids::text[]) and not w.is_deleted`)
type WebhookOfDelivery = WebhookRow & { readonly deliveryId: string }
/**
 * Leaves out webhooks that another commit changes, so that none waits. Only a first success makes a
 * new version of the webhook, so later ones do not make processes read it again.
 */
const refreshSql = sql<{ readonly successes: string }>(`
  update agent_messaging.webhooks w set last_success_at = free.at,
    version = w.version + (w.last_success_at is null)::integer
  from (select l.seq, g.at
    from jsonb_to_recordset(@successes::jsonb) as g (seq bigint, at bigint)
      join agent_messaging.webhooks l on l.seq = g.seq and coalesce(l.last_success_at, 0) < g.at
    for no key update of l skip locked) free
  where w.seq = free.seq`)

type Success = AttemptRecord & { readonly decideHealth: DecideHealth }
/** `lastSuccess`: only the time of the webhook's last success changes. */
type Effect = 'health' | 'nothing' | { readonly lastSuccess: LastSuccess }
type LastSuccess = { readonly seq: number; readonly at: Instant }

type Recorded = {
  readonly place: number
  readonly receiverSeq: number
  readonly nextIsDue: boolean
}

const recordCall = countingCall<{ readonly attempts: string }, Recorded>(
  'select * from agent_messaging.record_attempts(@attempts)',
  'true',
)

const MAX_BATCH_SIZE = 256
/** Each record with health holds a connection while it waits for the row of its webhook. */
const MAX_WITH_HEALTH = 4

/**
 * `DeliveryStore.recordAttempts`. Records of one webhook that can change its health run in order.
 */
export function attemptRecorder({ gathered, grouped }: Gateway): DeliveryStore['recordAttempts'] {
  const names = headerNames()
  const oneAtATime = new OneAtATime()
  const keyOf = ({ deliveryId }: AttemptRecord) => deliveryId
  const recordPlain = grouped<AttemptRecord, RecordedAttempt>({
    keyOf,
    maxBatchSize: MAX_BATCH_SIZE,
    flush: (db, records) => recordAttempts(db, names, records),
  })
  const effectOf = gathered(effectsOf)
  const refresh = grouped<LastSuccess, void>({
    keyOf: ({ seq }) => String(seq),
    maxBatchSize: MAX_BATCH_SIZE,
    flush: async (db, all) => {
      await db.run(refreshSql, { successes: jsonRows(all) })
      return all.map(() => undefined)
    },
  })
  const recordHealth = grouped<AttemptRecord, RecordedAttempt>({
    keyOf,
    maxBatchSize: 1,
    maxInFlight: MAX_WITH_HEALTH,
    inTransaction: true,
    flush: (db, records) => Promise.all(records.map((one) => recordWithHealth(db, names, one))),
  })
  /** Returns undefined, and records nothing, if only the time of the last success changes. */
  async function recordIfHealthChanges(attempt: Success): Stored<RecordedAttempt | undefined> {
    // A failure always changes the webhook.
    if (attempt.attempt.outcome.kind !== 'accepted') return recordHealth(attempt)
    const effect = await effectOf(attempt)
    if (!effect.ok) return effect
    if (effect.value === 'health') return recordHealth(attempt)
    // The next success repeats a refresh that fails.
    if (effect.value !== 'nothing') await refresh(effect.value.lastSuccess)
    return success(undefined)
  }
  const record = (attempt: AttemptRecord): Stored<RecordedAttempt> => {
    const { deliveryId, receiverId = deliveryId, decideHealth, outgoing } = attempt
    if (!decideHealth) return outgoing ? recordHealth(attempt) : recordPlain(attempt)
    const work = () => recordIfHealthChanges({ ...attempt, decideHealth })
    return oneAtATime.run(receiverId, work).then((recorded) => {
      if (!recorded.ok) return recorded
      return recorded.value ? success(recorded.value) : recordPlain(attempt)
    })
  }
  return async (records) => {
    const recorded: RecordedAttempt[] = []
    for (const one of await Promise.all(records.map(record))) {
      if (!one.ok) return one
      recorded.push(one.value)
    }
    return success(recorded)
  }
}

/** Records attempts of different deliveries, without webhook health. */
async function recordAttempts(
  db: Queries,
  names: HeaderNames,
  records: readonly AttemptRecord[],
): Promise<RecordedAttempt[]> {
  const recorded = await recordCall(db, await rowsOf(db, names, records), records)
  const places = new Map(recorded.map((row) => [row.place, row]))
  return records.map((_, at) => {
    const row = places.get(at + 1)
    return row ? recordedAttempt(row) : { kind: 'lease_lost' }
  })
}

/** Records an attempt with its events and updates its webhook, within a transaction. */
async function recordWithHealth(
  db: Queries,
  names: HeaderNames,
  record: AttemptRecord,
): Promise<RecordedAttempt> {
  const [recorded] = await recordCall(db, await rowsOf(db, names, [record]), [])
  if (!recorded) return { kind: 'lease_lost' }
  const { decideHealth, outgoing } = record
  if (outgoing) await fanOut(db, outgoing)
  const row = decideHealth && (await db.one(lockSql, { seq: recorded.receiverSeq }))
  const webhook = row && (await updateHealth(db, toWebhook(row), decideHealth))
  await perform(db, appendCounts, record.count)
  await perform(db, appendCounts, record.endCount)
  return { ...recordedAttempt(recorded), ...(webhook && { webhook }) }
}

const recordedAttempt = ({ nextIsDue }: Recorded): { kind: 'recorded'; nextIsDue?: true } =>
  nextIsDue ? { kind: 'recorded', nextIsDue } : { kind: 'recorded' }

async function rowsOf(db: Queries, names: HeaderNames, records: readonly AttemptRecord[]) {
  const headers = await names.columnsOf(
    db,
    records.map(({ attempt }) => attempt.requestHeaders),
  )
  const rows = records.map(({ deliveryId, token, attempt, state }, at) => ({
    deliveryId,
    token,
    isAccepted: attempt.outcome.kind === 'accepted',
    startedAt: attempt.startedAt,
    durationMs: attempt.durationMs,
    url: attempt.url,
    outcome: JSON.stringify(attempt.outcome),
    state: state.kind,
    ...afterAttemptColumns(state),
    ...headers[at],
  }))
  return { attempts: jsonRows(rows) }
}

/**
 * Returns what each success would change, without a transaction. Usually only the first of many
 * concurrent successes changes more than the time of the last one.
 */
async function effectsOf(db: Queries, successes: readonly Success[]): Promise<Effect[]> {
  const ids = successes.map(({ deliveryId }) => deliveryId)
  const rows = new Map((await db.all(ofDeliveriesSql, { ids })).map((row) => [row.deliveryId, row]))
  return successes.map(({ deliveryId, decideHealth }) => {
    const row = rows.get(deliveryId)
    return row ? effectOn(row, decideHealth) : 'nothing'
  })
}

function effectOn(row: WebhookRow, decideHealth: DecideHealth): Effect {
  const webhook = toWebhook(row)
  const update = decideHealth(webhook)
  if (!update) return 'nothing'
  const at = onlySuccess(webhook, update)
  return at === undefined ? 'health' : { lastSuccess: { seq: row.seq, at } }
}

/** Updates a locked webhook after an attempt, within the transaction that records the attempt. */
async function updateHealth(
  db: Queries,
  before: Webhook,
  decideHealth: DecideHealth,
): Promise<{ readonly before: Webhook; readonly after: Webhook } | undefined> {
  const update = decideHealth(before)
  if (!update) return undefined
  const after = changeWebhook(before, update.change)
  await db.run(updateSql, webhookColumns(after))
  if (update.outgoing) await fanOut(db, update.outgoing)
  return { before, after }
}

/** Runs the work of each key in the order of the calls, one at a time, also after a failure. */
export class OneAtATime {
  /** The last work of each key. */
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, work: () => PromiseLike<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work)
    const ended: Promise<unknown> = result
      .catch(() => undefined)
      .then(() => {
        if (this.#last.get(key) === ended) this.#last.delete(key)
      })
    this.#last.set(key, ended)
    return result
  }
}
