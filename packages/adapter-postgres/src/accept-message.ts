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
import { call, sql } from './sql.js'
import { counting, usageParameters, type UsageParameters } from './usage-store.js'

type Nullable = readonly (string | null)[]
type Columns = {
  readonly [
    C in 'projectIds' | 'agentIds' | 'sessionIds' | 'ids' | 'texts' | 'principals'
  ]: readonly string[]
} & {
  readonly [
    C in 'keys' | 'fingerprints' | 'metadatas' | 'traces' | 'earlierTurns' | 'apiKeyIds'
  ]: Nullable
} & {
  readonly nows: readonly number[]
  readonly claimUntils: readonly (number | null)[]
  readonly agentsUpdatedAt: readonly (number | null)[]
}
/** The result for the message at `place`. An accepted message has its session's `token`. */
type Result = {
  readonly place: number
  readonly kind: Exclude<Accepted['kind'], 'rate_limited'>
  readonly existingSeq: number | null
  readonly token: number | null
  readonly sessionState: string | null
}

const acceptText = (name: 'accept_messages' | 'accept_independent') => `
  select * from agent_messaging.${name}(@projectIds, @agentIds, @sessionIds, @ids, @keys,
    @fingerprints, @texts, @metadatas, @principals, @traces, @earlierTurns, @nows, @claimUntils,
    @apiKeyIds, @agentsUpdatedAt)`
const acceptSql = (name: 'accept_messages' | 'accept_independent') => {
  const text = acceptText(name)
  const counted = counting(text, "r.kind in ('created', 'claimed')")
  return {
    plain: call<Columns, Result>(text),
    counting: call<Columns & UsageParameters, Result>(counted),
  }
}
const acceptEach = acceptSql('accept_messages')
const acceptIndependent = acceptSql('accept_independent')
const existingSql = sql<{ readonly seqs: readonly number[] }, MessageRow>(
  `${selectMessage} where m.seq = any(@seqs::bigint[])`,
)

/**
 * `MessageStore.accept` for a batch. If two batches at once contain the same key or id, the second
 * insert violates the unique index. Its batch then runs again and finds the first message.
 */
export async function acceptAll(
  db: Queries,
  all: readonly NewMessage[],
  isOfHost = false,
): Promise<Accepted[]> {
  const statement = areIndependent(all) ? acceptIndependent : acceptEach
  const columns = columnsOf(all)
  const usage = usageParameters(all, isOfHost)
  const results = usage
    ? await db.all(statement.counting, { ...columns, ...usage })
    : await db.all(statement.plain, columns)
  const seqs = results.flatMap(({ existingSeq }) => existingSeq ?? [])
  const rows = seqs.length === 0 ? [] : await db.all(existingSql, { seqs })
  const existing = new Map(rows.map((row) => [row.seq, row]))
  const accepted: Accepted[] = []
  for (const result of results) {
    const message = all[result.place - 1] as NewMessage
    accepted[result.place - 1] = acceptedOf(message, result, existing.get(result.existingSeq ?? 0))
  }
  return accepted
}

/** Up to this many messages are accepted as fast one after the other. */
const FEW = 2

/**
 * Returns whether the messages have different sessions and keys, and are enough for one statement.
 */
function areIndependent(all: readonly NewMessage[]): boolean {
  if (all.length <= FEW) return false
  const sessions = new Set(all.map(({ agentId, sessionId }) => `${agentId} ${sessionId}`))
  const keys = all.flatMap(({ agentId, idempotencyKey }) =>
    idempotencyKey === undefined ? [] : [`${agentId} ${idempotencyKey}`],
  )
  return sessions.size === all.length && new Set(keys).size === keys.length
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
  earlierTurns: all.map(({ earlierTurns }) =>
    earlierTurns === undefined ? null : JSON.stringify(earlierTurns),
  ),
  nows: all.map(({ now }) => now),
  claimUntils: all.map(({ claimUntil }) => claimUntil ?? null),
  apiKeyIds: all.map(({ readEarlier }) => readEarlier?.apiKeyId ?? null),
  agentsUpdatedAt: all.map(({ readEarlier }) => readEarlier?.agentUpdatedAt ?? null),
})
