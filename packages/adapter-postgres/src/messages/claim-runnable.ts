import {
  messageOf,
  type ClaimedMessage,
  type Instant,
  type FreeSlots,
  type MessageFacts,
  type MessageStateKind,
} from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { call, jsonRows } from '../database/sql.js'

type Query = {
  readonly lanes: readonly FreeSlots[]
  readonly now: Instant
  readonly until: Instant
}
type Claims = {
  readonly lanes: string
  readonly now: Instant
  readonly until: Instant
}
/** `was` is the state of the message before the claim. */
type Claim = MessageFacts & {
  readonly token: number
  readonly sessionState: string | null
  readonly was: MessageStateKind
  readonly isExhausted: boolean
}

const claimSql = call<Claims, Claim>(
  'select * from agent_messaging.claim_messages(@lanes, @now, @until)',
)

/** `MessageStore.claimRunnable`. A lane without due messages costs one descent of an index. */
export async function claimRunnable(
  db: Queries,
  { lanes, now, until }: Query,
): Promise<ClaimedMessage[]> {
  const claims = await db.all(claimSql, { lanes: jsonRows(lanes), now, until })
  return claims.map(({ token, sessionState, was, isExhausted, ...facts }) => {
    const lost = was === 'running' || was === 'deferred' ? was : undefined
    return {
      message: messageOf(facts, { kind: 'running', startedAt: now }),
      lease: { token, until },
      ...(lost && { lost }),
      ...(isExhausted && { isExhausted }),
      ...(sessionState !== null && { sessionState }),
    }
  })
}
