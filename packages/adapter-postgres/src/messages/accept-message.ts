import {
  claimedMessage,
  columnOf,
  createdMessage,
  requestColumn,
  sharedReceiver,
  toMessage,
  traceColumn,
  WEBHOOK_COLUMNS,
  webhookColumns,
  type Accepted,
  type HookOfMessage,
  type MessageRow,
  type NewMessage,
} from '@org/agent-messaging-core/storage'
import { STORED_SINCE } from '@org/agent-messaging-sql-kit'
import type { Queries } from '../database/gateway.js'
import { selectMessage } from './message-row.js'
import { jsonRows, sql } from '../database/sql.js'
import { FIRST_VERSION, type KnownHooks } from '../webhooks/receivers.js'
import { countingCall } from './counts.js'

/** The result for the message at `place`. An accepted message has its session's `token`. */
type Result = {
  readonly place: number
  readonly kind: Exclude<Accepted['kind'], 'rate_limited'>
  readonly existingSeq: number | null
  readonly token: number | null
  readonly sessionState: string | null
  /** The row of the hook that was stored with the message. */
  readonly hookSeq?: number | null
  /** The row of its receiver, if it was stored before and is healthy. */
  readonly receiverSeq?: number | null
}

type Rounds = { readonly rounds: string }
const IS_NEW = "r.kind in ('created', 'claimed')"
const ACCEPT = ['select * from agent_messaging.accept_messages(@rounds)', IS_NEW] as const
const acceptCall = countingCall<Rounds, Result>(...ACCEPT)
const HOOK_COLUMNS = WEBHOOK_COLUMNS.map((property) => [property, columnOf(property)] as const)
const hookColumns = HOOK_COLUMNS.map(([, column]) => column).join(', ')
/**
 * Stores the hooks of new messages too, and their receivers if they are new. The `seq` of each row of
 * `hooks` is its message's place.
 */
const acceptWithHooks = countingCall<
  Rounds & { readonly hooks: string; readonly receivers: string },
  Result
>(
  ...ACCEPT,
  `hooks as materialized (
    select nextval('agent_messaging.webhooks_seq_seq') as hook_seq, h.*
    from jsonb_populate_recordset(null::agent_messaging.webhooks, @hooks::jsonb) as h
      join result r on r.place = h.seq where ${IS_NEW}),
  stored as (
    insert into agent_messaging.webhooks (seq, ${hookColumns}) overriding system value
    select hook_seq, ${hookColumns} from hooks),
  held as materialized (
    select k.seq, k.id, k.consecutive_failures = 0 and k.circuit_until is null as "isHealthy"
    from agent_messaging.webhooks k
    where k.id = any(array(select h.id from jsonb_populate_recordset(
      null::agent_messaging.webhooks, @receivers::jsonb) as h)) order by k.id for key share),
  received as (
    insert into agent_messaging.webhooks (${hookColumns})
    select ${hookColumns} from jsonb_populate_recordset(null::agent_messaging.webhooks,
      @receivers::jsonb) as h
    where not exists (select 1 from held k where k.id = h.id) ${STORED_SINCE})`,
  `r.*, h.hook_seq as "hookSeq", k.seq as "receiverSeq" from result r
    left join hooks h on h.seq = r.place
    left join held k on k.id = h.receiver and k."isHealthy"`,
)
const existingSql = sql<{ readonly seqs: readonly number[] }, MessageRow>(
  `${selectMessage} where m.seq = any(@seqs::bigint[])`,
)

/**
 * `MessageStore.accept` for a batch. If two batches at once contain the same key or id, the second
 * insert violates the unique index. Its batch then runs again and finds the first message. `known`
 * keeps the stored hooks.
 */
export async function acceptAll(
  db: Queries,
  all: readonly NewMessage[],
  known?: KnownHooks,
): Promise<Accepted[]> {
  const rounds = jsonRows(roundsOf(all))
  const hooks = all.flatMap(hookRowsOf)
  const results = await (hooks.length === 0
    ? acceptCall(db, { rounds }, all)
    : acceptWithHooks(db, { rounds, hooks: jsonRows(hooks), receivers: receiverRows(all) }, all))
  const seqs = results.flatMap(({ existingSeq }) => existingSeq ?? [])
  const rows = seqs.length === 0 ? [] : await db.all(existingSql, { seqs })
  const existing = new Map(rows.map((row) => [row.seq, row]))
  const accepted: Accepted[] = []
  for (const result of results) {
    const message = all[result.place - 1] as NewMessage
    const { hookSeq: seq, receiverSeq } = result
    if (message.hook && seq && receiverSeq) known?.keep({ seq, receiverSeq, webhook: message.hook })
    accepted[result.place - 1] = acceptedOf(message, result, existing.get(result.existingSeq ?? 0))
  }
  return accepted
}

/** Puts messages of one session, and messages with one key, into different rounds, in their order. */
function roundsOf(all: readonly NewMessage[]): object[][] {
  const rounds: object[][] = []
  /** How many rounds have a message of the session, or with the key. */
  const used = new Map<string, number>()
  for (const [at, message] of all.entries()) {
    const { agentId, sessionId, idempotencyKey = message.id } = message
    const names = [`session ${agentId} ${sessionId}`, `key ${agentId} ${idempotencyKey}`]
    const round = Math.max(...names.map((name) => used.get(name) ?? 0))
    for (const name of names) used.set(name, round + 1)
    const inRound = (rounds[round] ??= [])
    inRound.push(rowOf(message, at + 1))
  }
  return rounds
}

function acceptedOf(
  message: NewMessage,
  { kind, token, sessionState }: Result,
  existing: MessageRow | undefined,
): Accepted {
  switch (kind) {
    case 'existing':
      // The message was erased in the meantime, like one whose agent was deleted.
      return existing ? { kind, message: toMessage(existing) } : { kind: 'agent_not_found' }
    case 'created':
      return createdMessage(message)
    case 'claimed':
      return claimedMessage(message, token ?? 0, message.claimUntil ?? message.now, sessionState)
    default:
      return { kind }
  }
}

const rowOf = (message: NewMessage, place: number) => ({
  place,
  projectId: message.projectId,
  agentId: message.agentId,
  sessionId: message.sessionId,
  id: message.id,
  idempotencyKey: message.idempotencyKey,
  fingerprint: message.fingerprint,
  message: message.message,
  request: requestColumn(message) ?? undefined,
  metadata: jsonText(message.metadata),
  principal: jsonText(message.executionPrincipal),
  trace: traceColumn(message.trace) ?? undefined,
  earlierTurns: jsonText(message.earlierTurns),
  now: message.now,
  claimUntil: message.claimUntil,
  hookVersion: message.hook && FIRST_VERSION,
  apiKeyId: message.readEarlier?.apiKeyId,
  agentUpdatedAt: message.readEarlier?.agentUpdatedAt,
})

/** The row of the message's hook, under the names of the table and without nulls. */
function hookRowsOf({ hook }: NewMessage, at: number): object[] {
  return hook ? [{ seq: at + 1, ...columnsOf(hook) }] : []
}

/** The rows of the receivers of all hooks, in an order in which no two batches block each other. */
function receiverRows(all: readonly NewMessage[]): string {
  const receivers = all.flatMap(({ hook }) => (hook ? sharedReceiver(hook) : []))
  const byId = new Map(receivers.map((one) => [one.id, one]))
  return jsonRows([...byId.keys()].sort().map((id) => columnsOf(byId.get(id) as HookOfMessage)))
}

function columnsOf(hook: HookOfMessage): Record<string, unknown> {
  const columns = webhookColumns(hook)
  const row: Record<string, unknown> = {}
  for (const [property, column] of HOOK_COLUMNS)
    if (columns[property] !== null) row[column] = columns[property]
  return row
}

const jsonText = (value: unknown): string | undefined => JSON.stringify(value)
