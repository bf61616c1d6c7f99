import {
  claimedMessage,
  createdMessage,
  toMessage,
  traceColumn,
  type Accepted,
  type MessageRow,
  type NewMessage,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { selectMessage } from './message-row.js'
import { sql } from './sql.js'

type Nullable = readonly (string | null)[]
type Columns = {
  readonly [
    C in 'projectIds' | 'agentIds' | 'sessionIds' | 'ids' | 'texts' | 'principals'
  ]: readonly string[]
} & {
  readonly [C in 'keys' | 'fingerprints' | 'metadatas' | 'traces']: Nullable
} & { readonly nows: readonly number[]; readonly claimUntils: readonly (number | null)[] }
/** What became of the one at this place. `token`: of its session, if it was accepted. */
type WebhookUpdate = {
  readonly place: number
  readonly kind: Accepted['kind']
  readonly existingSeq: number | null
  readonly token: number | null
  readonly sessionState: string | null
}

const acceptSqlBy = (name: string) =>
  sql<Columns, WebhookUpdate>(`
  select * from agent_messaging.${name}(@projectIds, @agentIds, @sessionIds, @ids, @keys, @fingerprints, @texts, @metadatas,
    @principals, @traces, @nows, @claimUntils)`)
const [acceptOneByOneSql, acceptApartSql] = [
  acceptSqlBy('accept_messages'),
  acceptSqlBy('accept_independent'),
]
const existingSql = sql<{ readonly seqs: readonly number[] }, MessageRow>(
  `${selectMessage} where m.seq = any(@seqs::bigint[])`,
)

/**
 * `MessageStore.accept` of many. Of two that come at once with one key, or one id, in two batches, the second finds neither at first;
 * its insert then violates the unique index, and its batch runs again and finds the other's message.
 */
export async function acceptAll(db: Queries, all: readonly NewMessage[]): Promise<Accepted[]> {
  const verdicts = await db.all(areApart(all) ? acceptApartSql : acceptOneByOneSql, columnsOf(all))
  const seqs = verdicts.flatMap(({ existingSeq }) => existingSeq ?? [])
  const existing = new Map(
    seqs.length === 0 ? [] : (await db.all(existingSql, { seqs })).map((row) => [row.seq, row]),
  )
  const accepted: Accepted[] = []
  for (const { place, existingSeq, ...verdict } of verdicts) {
    accepted[place - 1] = acceptedOf(
      all[place - 1] as NewMessage,
      verdict,
      existing.get(existingSeq ?? 0),
    )
  }
  return accepted
}

/** So many are as soon done one by one. */
const FEW = 2

/** Whether none of them can be in the way of another, and they are worth a statement for all. */
function areApart(all: readonly NewMessage[]): boolean {
  if (all.length <= FEW) return false
  const sessions = new Set(all.map(({ agentId, sessionId }) => `${agentId} ${sessionId}`))
  const keys = all.flatMap(({ agentId, idempotencyKey }) =>
    idempotencyKey === undefined ? [] : [`${agentId} ${idempotencyKey}`],
  )
  return sessions.size === all.length && new Set(keys).size === keys.length
}

function acceptedOf(
  given: NewMessage,
  verdict: Pick<WebhookUpdate, 'kind' | 'token' | 'sessionState'>,
  row: MessageRow | undefined,
): Accepted {
  const { kind, token, sessionState } = verdict
  switch (kind) {
    case 'existing':
      // Erased in the moment between: as an agent that was deleted then, it is not there.
      return row ? { kind, message: toMessage(row) } : { kind: 'agent_not_found' }
    case 'created':
      return createdMessage(given)
    case 'claimed':
      return claimedMessage(given, token ?? 0, given.claimUntil ?? given.now, sessionState)
    default:
      return { kind }
  }
}

const columnsOf = (all: readonly NewMessage[]): Columns => ({
  projectIds: all.map(({ projectId }) => projectId),
  agentIds: all.map(({ agentId }) => agentId),
  sessionIds: all.map(({ sessionId }) => sessionId),
  ids: all.map(({ id }) => id),
  keys: all.map(({ idempotencyKey }) => idempotencyKey ?? null),
  fingerprints: all.map(({ fingerprint }) => fingerprint ?? null),
  texts: all.map(({ message }) => message),
  metadatas: all.map(({ metadata }) => (metadata === undefined ? null : JSON.stringify(metadata))),
  principals: all.map(({ executionPrincipal }) => JSON.stringify(executionPrincipal)),
  traces: all.map(({ trace }) => traceColumn(trace)),
  nows: all.map(({ now }) => now),
  claimUntils: all.map(({ claimUntil }) => claimUntil ?? null),
})
