import {
  newestThatFit,
  type ExecutionPrincipal,
  type HistoryOf,
  type Turn,
} from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

type PastRow = {
  readonly messageId: string
  readonly message: string
  readonly response: string
  readonly principal: string
}

/** Messages that are searched for answers, as in the port. */
const MAX_ROWS = 5_000

/** Measures characters. A text has at least as many UTF-16 units, so all fitting turns are here. */
const pastSql = sql<HistoryOf & { readonly rows: number }, PastRow>(`
  with place as (
    select m.session_seq, m.position from agent_messaging.messages m
      join agent_messaging.sessions s on s.seq = m.session_seq
      join agent_messaging.agents a on a.id = s.agent_id
    where m.id = @messageId),
  past as (
    select m.* from agent_messaging.messages m join place on place.session_seq = m.session_seq
    where m.position < place.position order by m.position desc limit @rows),
  turns as (
    select id, message, response, principal, position from past
    where response is not null order by position desc limit greatest(@maxTurns::bigint, 0)),
  measured as (
    select *, sum(char_length(message) + char_length(response)) over (order by position desc) as total
    from turns)
  select id as "messageId", message, response, principal
  from measured where total <= @maxLength::float8 order by position desc`)

/** `MessageStore.history`. */
export async function sessionHistory(db: Queries, query: HistoryOf): Promise<Turn[]> {
  const rows = await db.all(pastSql, { ...query, rows: MAX_ROWS })
  const turns = rows.map(({ principal, ...row }) => ({
    ...row,
    executionPrincipal: JSON.parse(principal) as ExecutionPrincipal,
  }))
  return newestThatFit(turns, query)
}
