import type { Database } from 'better-sqlite3'
import type {
  AfterAttempt,
  AttemptRecord,
  DeliveryStatus,
  RecordedAttempt,
} from '@org/agent-messaging-core/storage'
import type { FanOut } from './fan-out.js'
import { headerWriter } from './kept-headers.js'
import { judgements } from './judgement.js'
import type { WebhookRows } from './webhook-rows.js'

type Claim = {
  readonly seq: number
  readonly webhookSeq: number
  readonly state: DeliveryStatus
  readonly isClaimed: 0 | 1
  readonly lease: number
  readonly attemptCount: number
}
type InsertedColumns = [
  deliverySeq: number,
  attemptNumber: number,
  startedAt: number,
  durationMs: number,
  outcome: string,
  headerNamesSeq: number | null,
  headerValues: string | null,
]
type UpdatedColumns = [
  state: string,
  step: number | null,
  dueAt: number | null,
  finishedAt: number | null,
  attemptNumber: number,
  deliverySeq: number,
]
type Columns = {
  readonly dueAt: number | null
  readonly finishedAt: number | null
  readonly step: number | null
}

/** `DeliveryStore.recordAttempt`, within a transaction. */
export function attemptRecords(
  db: Database,
  fanOut: FanOut,
  webhooks: WebhookRows,
): (record: AttemptRecord) => RecordedAttempt {
  const judged = judgements(db, fanOut, webhooks)
  const claimOf = db.prepare<[string], Claim>(
    'select seq, webhook_seq as webhookSeq, state, is_claimed as isClaimed, lease, attempt_count as attemptCount from deliveries where id = ?',
  )
  const columnsOfHeaders = headerWriter(db)
  // By place: the driver looks up parameters that have a name one by one, which these two statements feel.
  const insert = db.prepare<InsertedColumns>(`
    insert into attempts (delivery_seq, attempt_number, started_at, duration_ms, outcome, header_names_seq, header_values)
    values (?, ?, ?, ?, ?, ?, ?)`)
  const update = db.prepare<UpdatedColumns>(`
    update deliveries set state = ?, is_claimed = 0, step = coalesce(?, step), due_at = ?, resume_at = null, finished_at = ?, attempt_count = ?
    where seq = ?`)

  return (record) => {
    const claim = claimOf.get(record.deliveryId)
    if (!claim || !counts(record, claim)) return { kind: 'lease_lost' }
    const { startedAt, durationMs } = record.attempt
    const outcome = JSON.stringify(record.attempt.outcome)
    const attemptNumber = claim.attemptCount + 1
    const { headerNamesSeq, headerValues } = columnsOfHeaders(record.attempt.requestHeaders)
    const { step, dueAt, finishedAt } = columnsOf(record.state)
    insert.run(
      claim.seq,
      attemptNumber,
      startedAt,
      durationMs,
      outcome,
      headerNamesSeq,
      headerValues,
    )
    update.run(record.state.kind, step, dueAt, finishedAt, attemptNumber, claim.seq)
    const webhook = record.decideHealth && judged(claim.webhookSeq, record.decideHealth)
    return { kind: 'recorded', ...(webhook && { webhook }) }
  }
}

/** What a receiver took is delivered, whoever learns it; anything else only the holder of the claim may say. */
function counts({ token, attempt }: AttemptRecord, { state, isClaimed, lease }: Claim): boolean {
  return (
    state === 'pending' &&
    (attempt.outcome.kind === 'accepted' || (isClaimed === 1 && lease === token))
  )
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
