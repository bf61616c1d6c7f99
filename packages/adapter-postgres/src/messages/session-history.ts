import {
  newestThatFit,
  turnsOf,
  type EarlierTurn,
  type ExecutionPrincipal,
  type HistoryOf,
  type Turn,
} from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/gateway.js'
import { sql } from '../database/sql.js'

type PastRow = {
  readonly messageId: string
  readonly message: string
  readonly response: string | null
  readonly principal: string
  readonly earlierTurns: string | null
}

/** Messages that are searched for answers, as in the port. */
const MAX_ROWS = 5_000

/**
 * Measures the characters of messages and answers. A text has at least as many UTF-16 units, so all
 * fitting turns are here. Each row has a turn at least.
 */
const pastSql = sql<HistoryOf & { readonly rows: number }, PastRow>(`
  with place as (
    select m.session_seq, m.position from agent_messaging.messages m
      join agent_messaging.sessions s on s.seq = m.session_seq
      join agent_messaging.agents a on a.id = s.agent_id
    where m.id = @messageId),
  past as (
    select m.id, m.message, m.principal, m.position, m.earlier_turns,
      case when m.position < place.position then m.response end as response
    from agent_messaging.messages m join place on place.session_seq = m.session_seq
    where m.position <= place.position order by m.position desc limit @rows),
  turns as (
    select * from past where response is not null or earlier_turns is not null
    order by position desc limit greatest(@maxTurns::bigint, 0)),
  measured as (
    select *, coalesce(sum(char_length(message) + char_length(response))
      over (order by position desc), 0) as total
    from turns)
  select id as "messageId", message, response, principal, earlier_turns as "earlierTurns"
  from measured where total <= @maxLength::float8 order by position desc`)

/** `MessageStore.history`. */
export async function sessionHistory(db: Queries, query: HistoryOf): Promise<Turn[]> {
  const rows = await db.all(pastSql, { ...query, rows: MAX_ROWS })
  const turns = rows.flatMap(({ principal, earlierTurns, ...row }) => [
    ...turnsOf({
      ...row,
      executionPrincipal: JSON.parse(principal) as ExecutionPrincipal,
      ...(earlierTurns !== null && { earlierTurns: JSON.parse(earlierTurns) as EarlierTurn[] }),
    }),
  ])
  return newestThatFit(turns, query)
}
