import type { Database } from 'better-sqlite3'
import type { AfterAttempt, AttemptRecord, DeliveryState, RecordedAttempt } from '@org/agent-messaging-core'
import type { FanOut } from './fan-out.js'
import { headerWriter, type HeaderColumns } from './kept-headers.js'
import { judgements } from './judgement.js'

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

/** `DeliveryStore.recordAttempt`, within a transaction. */
export function attemptRecords(db: Database, fanOut: FanOut): (record: AttemptRecord) => RecordedAttempt {
  const judged = judgements(db, fanOut)
  const claimOf = db.prepare<[string], Claim>(
    'select seq, webhook_seq as webhookSeq, state, lease, attempt_count as attemptCount from deliveries where id = ?',
  )
  const columnsOfHeaders = headerWriter(db)
  const insert = db.prepare<[AttemptColumns]>(`
    insert into attempts (delivery_seq, attempt_number, started_at, duration_ms, outcome, header_names_seq, header_values)
    values (@deliverySeq, @attemptNumber, @startedAt, @durationMs, @outcome, @headerNamesSeq, @headerValues)`)
  const update = db.prepare<[Columns & { seq: number; attemptNumber: number; state: string }]>(`
    update deliveries set state = @state, step = coalesce(@step, step), due_at = @dueAt, resume_at = null, finished_at = @finishedAt,
      attempt_count = @attemptNumber
    where seq = @seq`)

  return (record) => {
    const claim = claimOf.get(record.deliveryId)
    if (!claim || !counts(record, claim)) return { kind: 'lease_lost' }
    const { startedAt, durationMs } = record.attempt
    const outcome = JSON.stringify(record.attempt.outcome)
    const attemptNumber = claim.attemptCount + 1
    const headers = columnsOfHeaders(record.attempt.requestHeaders)
    insert.run({ deliverySeq: claim.seq, attemptNumber, startedAt, durationMs, outcome, ...headers })
    update.run({ seq: claim.seq, attemptNumber, state: record.state.kind, ...columnsOf(record.state) })
    const webhook = record.judge && judged(claim.webhookSeq, record.judge)
    return { kind: 'recorded', ...(webhook && { webhook }) }
  }
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
