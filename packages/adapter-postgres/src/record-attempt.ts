import type { AfterAttempt, AttemptRecord, DeliveryState, RecordedAttempt } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { judged } from './judgement.js'
import { headerColumns, type HeaderColumns } from './kept-headers.js'
import { sql } from './sql.js'

type Claim = {
  readonly seq: number
  readonly webhookSeq: number
  readonly state: DeliveryState['kind']
  readonly lease: number
  readonly attemptCount: number
}
type AttemptColumns = HeaderColumns & {
  readonly deliverySeq: number
  readonly attemptNumber: number
  readonly startedAt: number
  readonly durationMs: number
  readonly outcome: string
}
type Columns = { readonly dueAt: number | null; readonly finishedAt: number | null; readonly step: number | null }

const lockSql = sql<{ readonly deliveryId: string }, Claim>(`
  select seq, webhook_seq as "webhookSeq", state, lease, attempt_count as "attemptCount"
  from agent_messaging.deliveries where id = @deliveryId for update`)
const insertSql = sql<AttemptColumns>(`
  insert into agent_messaging.attempts (delivery_seq, attempt_number, started_at, duration_ms, outcome, header_names_seq, header_values)
  values (@deliverySeq, @attemptNumber, @startedAt, @durationMs, @outcome, @headerNamesSeq, @headerValues)`)
const updateSql = sql<Columns & { readonly seq: number; readonly attemptNumber: number; readonly state: string }>(`
  update agent_messaging.deliveries set state = @state, step = coalesce(@step::int, step), due_at = @dueAt, resume_at = null,
    finished_at = @finishedAt, attempt_count = @attemptNumber
  where seq = @seq`)

/** `DeliveryStore.recordAttempt`, within a transaction. */
export async function recordAttempt(db: Queries, record: AttemptRecord): Promise<RecordedAttempt> {
  const claim = await db.one(lockSql, record)
  if (!claim || !counts(record, claim)) return { kind: 'lease_lost' }
  const { startedAt, durationMs } = record.attempt
  const outcome = JSON.stringify(record.attempt.outcome)
  const attemptNumber = claim.attemptCount + 1
  const headers = await headerColumns(db, record.attempt.requestHeaders)
  await db.run(insertSql, { deliverySeq: claim.seq, attemptNumber, startedAt, durationMs, outcome, ...headers })
  await db.run(updateSql, { seq: claim.seq, attemptNumber, state: record.state.kind, ...columnsOf(record.state) })
  const webhook = record.judge && (await judged(db, claim.webhookSeq, record.judge))
  return { kind: 'recorded', ...(webhook && { webhook }) }
}

/** What a receiver took is delivered, whoever learns it; anything else only the holder of the claim may say. */
function counts({ token, attempt }: AttemptRecord, { state, lease }: Claim): boolean {
  if (state !== 'sending' && state !== 'pending') return false
  return attempt.outcome.kind === 'accepted' || (state === 'sending' && lease === token)
}

function columnsOf(state: AfterAttempt): Columns {
  switch (state.kind) {
    case 'pending':
      return { dueAt: state.nextAttemptAt, finishedAt: null, step: state.step }
    case 'delivered':
      return { dueAt: null, finishedAt: state.deliveredAt, step: null }
    case 'exhausted':
      return { dueAt: null, finishedAt: state.exhaustedAt, step: null }
  }
}
