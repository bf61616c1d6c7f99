import type { ClaimedMessage, Instant, Lane } from '@org/agent-messaging-core'
import type { Queries } from './database.js'
import { selectMessage, toMessage, type MessageRow } from './message-row.js'
import { claimSessions } from './session-row.js'
import { sql } from './sql.js'

type Query = { readonly lanes: readonly Lane[]; readonly now: Instant; readonly until: Instant }
type Seqs = { readonly seqs: readonly number[] }

const headsSql = sql<Seqs, MessageRow>(`${selectMessage} where s.seq = any(@seqs::bigint[]) and m.position = s.head_position`)
const startSql = sql<Seqs & { readonly now: Instant }>(`
  update agent_messaging.messages set state = 'running', attempt = attempt + 1, started_at = @now, not_before = null, deadline_at = null
  where seq = any(@seqs::bigint[])`)

/** `MessageStore.claimRunnable`, within a transaction. A lane with nothing due costs one descent of an index. */
export async function claimRunnable(db: Queries, { lanes, now, until }: Query): Promise<ClaimedMessage[]> {
  const [agentIds, free] = [lanes.map(({ agentId }) => agentId), lanes.map((lane) => Math.max(0, lane.free))]
  const claims = await claimSessions(db, { agentIds, free, now, until })
  if (claims.length === 0) return []
  const rows = await db.all(headsSql, { seqs: claims.map(({ sessionSeq }) => sessionSeq) })
  await db.run(startSql, { seqs: rows.map(({ seq }) => seq), now })

  const heads = new Map(rows.map((row) => [row.sessionSeq, row]))
  return claims.flatMap(({ sessionSeq, token, sessionState }) => {
    const head = heads.get(sessionSeq)
    if (!head) return []
    const lost = head.state === 'running' || head.state === 'deferred' ? head.state : undefined
    const message = { ...toMessage(head), attempt: head.attempt + 1, state: { kind: 'running', startedAt: now } } as const
    return [{ message, lease: { token, until }, ...(lost && { lost }), ...(sessionState !== null && { sessionState }) }]
  })
}
