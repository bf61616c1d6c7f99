import {
  afterAttemptColumns,
  type AttemptRecord,
  type RecordedAttempt,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { judged } from './judgement.js'
import type { HeaderNames } from './header-names.js'
import { sql } from './sql.js'

type Recorded = { readonly place: number; readonly webhookSeq: number }

const recordSql = sql<Awaited<ReturnType<typeof columnsOf>>, Recorded>(`
  select * from agent_messaging.record_attempts(@deliveryIds, @tokens, @areAccepted, @startedAts, @durations, @outcomes, @headerNames,
    @headerValues, @states, @steps, @dueAts, @finishedAts)`)

/** `DeliveryStore.recordAttempt` of many, each of another delivery, none of which is to be judged. */
export async function recordAttempts(
  db: Queries,
  names: HeaderNames,
  records: readonly AttemptRecord[],
): Promise<RecordedAttempt[]> {
  const recorded = await db.all(recordSql, await columnsOf(db, names, records))
  const places = new Set(recorded.map(({ place }) => place))
  return records.map((_, at) => ({ kind: places.has(at + 1) ? 'recorded' : 'lease_lost' }))
}

/** The same of one, within a transaction, with what it makes of the webhook. */
export async function recordJudged(
  db: Queries,
  names: HeaderNames,
  record: AttemptRecord,
): Promise<RecordedAttempt> {
  const recorded = await db.one(recordSql, await columnsOf(db, names, [record]))
  if (!recorded) return { kind: 'lease_lost' }
  const webhook =
    record.decideHealth && (await judged(db, recorded.webhookSeq, record.decideHealth))
  return { kind: 'recorded', ...(webhook && { webhook }) }
}

async function columnsOf(db: Queries, names: HeaderNames, records: readonly AttemptRecord[]) {
  const headers = await names.columnsOf(
    db,
    records.map(({ attempt }) => attempt.requestHeaders),
  )
  const columns = records.map(({ state }) => afterAttemptColumns(state))
  return {
    deliveryIds: records.map(({ deliveryId }) => deliveryId),
    tokens: records.map(({ token }) => token),
    areAccepted: records.map(({ attempt }) => attempt.outcome.kind === 'accepted'),
    startedAts: records.map(({ attempt }) => attempt.startedAt),
    durations: records.map(({ attempt }) => attempt.durationMs),
    outcomes: records.map(({ attempt }) => JSON.stringify(attempt.outcome)),
    headerNames: headers.map(({ headerNamesSeq }) => headerNamesSeq),
    headerValues: headers.map(({ headerValues }) => headerValues),
    states: records.map(({ state }) => state.kind),
    steps: columns.map(({ step }) => step),
    dueAts: columns.map(({ dueAt }) => dueAt),
    finishedAts: columns.map(({ finishedAt }) => finishedAt),
  }
}
