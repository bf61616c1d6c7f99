import { isDeepStrictEqual } from 'node:util'
import type { Webhook } from '@org/agent-messaging-core'
import { success } from '@org/agent-messaging-core/runtime'
import {
  afterAttemptColumns,
  changeWebhook,
  toWebhook,
  webhookColumns,
  type AttemptRecord,
  type DeliveryStore,
  type RecordedAttempt,
  type Stored,
  type WebhookColumns,
  type WebhookRow,
} from '@org/agent-messaging-core/storage'
import { appendCounts, selectWebhook, updateWebhook } from '@org/agent-messaging-sql-kit'
import type { Gateway, Queries } from '../database/gateway.js'
import { dialect, perform } from '../database/operations.js'
import { jsonRows, sql } from '../database/sql.js'
import { fanOut } from '../events/fan-out.js'
import { countingCall } from '../messages/counts.js'
import { headerNames, type HeaderNames } from './header-names.js'

type DecideHealth = NonNullable<AttemptRecord['decideHealth']>

const select = selectWebhook(dialect)
const updateSql = sql<WebhookColumns>(updateWebhook(dialect))
const locked = `${select} where w.seq = @seq and not w.is_deleted for no key update`
const lockSql = sql<{ readonly seq: number }, WebhookRow>(locked)
const lockIfFreeSql = sql<{ readonly seq: number }, WebhookRow>(`${locked} skip locked`)
const ofDeliverySql = sql<{ readonly deliveryId: string }, WebhookRow>(`
  ${select} join agent_messaging.deliveries d on d.webhook_seq = w.seq
  where d.id = @deliveryId and not w.is_deleted`)

/** A refresh is left out while another commit changes the webhook, so that none waits for it. */
type RecordWithHealth = AttemptRecord & { readonly isRefresh?: boolean }
type Recorded = {
  readonly place: number
  readonly webhookSeq: number
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
export function attemptRecorder({ read, grouped }: Gateway): DeliveryStore['recordAttempts'] {
  const names = headerNames()
  const oneAtATime = new OneAtATime()
  const keyOf = ({ deliveryId }: AttemptRecord) => deliveryId
  const recordPlain = grouped<AttemptRecord, RecordedAttempt>({
    keyOf,
    maxBatchSize: MAX_BATCH_SIZE,
    flush: (db, records) => recordAttempts(db, names, records),
  })
  const recordHealth = grouped<RecordWithHealth, RecordedAttempt>({
    keyOf,
    maxBatchSize: 1,
    maxInFlight: MAX_WITH_HEALTH,
    inTransaction: true,
    flush: (db, records) => Promise.all(records.map((one) => recordWithHealth(db, names, one))),
  })
  /** Returns undefined, and records nothing, if the attempt does not change the webhook. */
  async function recordIfHealthChanges(
    attempt: AttemptRecord,
    decideHealth: DecideHealth,
  ): Stored<RecordedAttempt | undefined> {
    // A failure always changes the webhook.
    const effect =
      attempt.attempt.outcome.kind === 'accepted'
        ? await read((db) => effectOfSuccess(db, attempt.deliveryId, decideHealth))
        : success('change' as const)
    if (!effect.ok) return effect
    if (!effect.value) return success(undefined)
    return recordHealth({ ...attempt, isRefresh: effect.value === 'refresh' })
  }
  const record = (attempt: AttemptRecord): Stored<RecordedAttempt> => {
    const { deliveryId, webhookId = deliveryId, decideHealth, outgoing } = attempt
    if (!decideHealth) return outgoing ? recordHealth(attempt) : recordPlain(attempt)
    const work = () => recordIfHealthChanges(attempt, decideHealth)
    return oneAtATime.run(webhookId, work).then((recorded) => {
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
  record: RecordWithHealth,
): Promise<RecordedAttempt> {
  const [recorded] = await recordCall(db, await rowsOf(db, names, [record]), [])
  if (!recorded) return { kind: 'lease_lost' }
  const { decideHealth, isRefresh, outgoing } = record
  if (outgoing) await fanOut(db, outgoing)
  const lock = isRefresh ? lockIfFreeSql : lockSql
  const row = decideHealth && (await db.one(lock, { seq: recorded.webhookSeq }))
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
 * Returns whether a success would change the webhook, without a transaction. Usually only the first
 * of many concurrent successes does. `refresh` changes only the time of the last success.
 */
async function effectOfSuccess(
  db: Queries,
  deliveryId: string,
  decideHealth: DecideHealth,
): Promise<'refresh' | 'change' | undefined> {
  const row = await db.one(ofDeliverySql, { deliveryId })
  const webhook = row && toWebhook(row)
  const after = webhook && decideHealth(webhook)?.change.health
  if (!after) return undefined
  const before = { ...webhook.health, lastSuccessAt: after.lastSuccessAt }
  return isDeepStrictEqual(before, after) ? 'refresh' : 'change'
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
