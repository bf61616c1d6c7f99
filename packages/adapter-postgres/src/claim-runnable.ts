import type { ClaimedMessage, Instant, Lane, MessageStateKind } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { selectMessage, toMessage, type MessageRow } from './message-row.js'
import { sql } from './sql.js'

type Query = { readonly lanes: readonly Lane[]; readonly now: Instant; readonly until: Instant }
type Claims = { readonly agentIds: readonly string[]; readonly free: readonly number[]; readonly now: Instant; readonly until: Instant }
/** `was`: the head's state before it was claimed. */
type Claim = { readonly seq: number; readonly token: number; readonly sessionState: string | null; readonly was: MessageStateKind }

const claimSql = sql<Claims, Claim>('select * from agent_messaging.claim_runnable(@agentIds, @free, @now, @until)')
const messagesSql = sql<{ readonly seqs: readonly number[] }, MessageRow>(`${selectMessage} where m.seq = any(@seqs::bigint[])`)

/** `MessageStore.claimRunnable`. A lane with nothing due costs one descent of an index. */
export async function claimRunnable(db: Queries, { lanes, now, until }: Query): Promise<ClaimedMessage[]> {
  const [agentIds, free] = [lanes.map(({ agentId }) => agentId), lanes.map((lane) => Math.max(0, lane.free))]
  const claims = await db.all(claimSql, { agentIds, free, now, until })
  if (claims.length === 0) return []
  const rows = await db.all(messagesSql, { seqs: claims.map(({ seq }) => seq) })
  const heads = new Map(rows.map((row) => [row.seq, row]))
  return claims.flatMap(({ seq, token, sessionState, was }) => {
    const head = heads.get(seq)
    // It was erased in the moment between.
    if (!head) return []
    const lost = was === 'running' || was === 'deferred' ? was : undefined
    const message = { ...toMessage(head), state: { kind: 'running', startedAt: now } } as const
    return [{ message, lease: { token, until }, ...(lost && { lost }), ...(sessionState !== null && { sessionState }) }]
  })
}
