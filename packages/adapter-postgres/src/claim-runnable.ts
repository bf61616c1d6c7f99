import {
  messageOf,
  type ClaimedMessage,
  type Instant,
  type Lane,
  type MessageFacts,
  type MessageStateKind,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { call } from './sql.js'

type Query = { readonly lanes: readonly Lane[]; readonly now: Instant; readonly until: Instant }
type Claims = {
  readonly agentIds: readonly string[]
  readonly free: readonly number[]
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
  'select * from agent_messaging.claim_messages(@agentIds, @free, @now, @until)',
)

/** `MessageStore.claimRunnable`. A lane without due messages costs one descent of an index. */
export async function claimRunnable(
  db: Queries,
  { lanes, now, until }: Query,
): Promise<ClaimedMessage[]> {
  const agentIds = lanes.map(({ agentId }) => agentId)
  const free = lanes.map((lane) => Math.max(0, lane.free))
  const claims = await db.all(claimSql, { agentIds, free, now, until })
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
