import type { Database } from 'better-sqlite3'
import {
  newestThatFit,
  turnsOf,
  type EarlierTurn,
  type ExecutionPrincipal,
  type HistoryOf,
  type Turn,
} from '@org/agent-messaging-core/storage'
import { atMost } from '../database/statements.js'

type Place = { readonly sessionSeq: number; readonly position: number }
type PastRow = {
  readonly messageId: string
  readonly message: string
  readonly response: string | null
  readonly principal: string
  readonly earlierTurns: string | null
}

/** Messages that are read at most, with or without an answer. */
const ROWS_AT_MOST = 5_000

/** `MessageStore.history`. Reads one row at a time, and stops at the limit. */
export function sessionHistory(db: Database): (query: HistoryOf) => Turn[] {
  const placeOf = db.prepare<[string], Place>(`
    select m.session_seq as sessionSeq, m.position
    from messages m join sessions s on s.seq = m.session_seq join agents a on a.id = s.agent_id where m.id = ?`)
  const before = db.prepare<[Place & { rows: number }], PastRow>(`
    select id as messageId, message, iif(position < @position, response, null) as response, principal, earlier_turns as earlierTurns
    from messages
    where session_seq = @sessionSeq and position <= @position order by position desc ${atMost('@rows')}`)

  function* turnsBefore(messageId: string): Generator<Turn> {
    const place = placeOf.get(messageId)
    if (!place) return
    for (const { principal, earlierTurns, ...row } of before.iterate({
      ...place,
      rows: ROWS_AT_MOST,
    })) {
      if (row.response === null && earlierTurns === null) continue
      yield* turnsOf({
        ...row,
        executionPrincipal: JSON.parse(principal) as ExecutionPrincipal,
        ...(earlierTurns !== null && { earlierTurns: JSON.parse(earlierTurns) as EarlierTurn[] }),
      })
    }
  }

  return ({ messageId, ...limit }) => newestThatFit(turnsBefore(messageId), limit)
}
