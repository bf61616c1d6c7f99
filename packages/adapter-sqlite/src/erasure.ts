import type { Database } from 'better-sqlite3'
import { atMost } from './statements.js'

export type Erasure = {
  /** Nothing finds the messages of this owner's sessions from now on: it is not, or no more, an agent. */
  add(owner: string): void
  /** Removes up to `limit` rows of what was added; gives how many. */
  sweep(limit: number): number
}

/**
 * What is erased or deleted is only disowned at first, in a commit of one row or two, for readers reach messages by their session's
 * agent alone. So nobody waits until a million rows are gone, and a crash in the middle of it shows nothing by halves.
 */
export function erasureOf(db: Database): Erasure {
  const insert = db.prepare<[string]>('insert or ignore into erasures (agent_id) values (?)')
  const oldest = db
    .prepare<[], string>('select agent_id from erasures order by seq limit 1')
    .pluck()
  const finish = db.prepare<[string]>('delete from erasures where agent_id = ?')
  const sessionOf = db
    .prepare<[string], number>('select seq from sessions where agent_id = ? limit 1')
    .pluck()
  const removeSession = db.prepare<[number]>('delete from sessions where seq = ?')
  const removeMessages = db.prepare<[number, number]>(
    `delete from messages where seq in (select seq from messages where session_seq = ? ${atMost('?')})`,
  )

  /** At most `limit` rows of one session; the session itself when its messages are gone. */
  function sweepSession(sessionSeq: number, limit: number): number {
    const { changes } = removeMessages.run(sessionSeq, limit)
    return changes < limit ? changes + removeSession.run(sessionSeq).changes : changes
  }

  return {
    add: (owner) => void insert.run(owner),
    sweep: (limit) => {
      let removed = 0
      for (let owner = oldest.get(); owner !== undefined && removed < limit; owner = oldest.get()) {
        const sessionSeq = sessionOf.get(owner)
        if (sessionSeq === undefined) finish.run(owner)
        else removed += sweepSession(sessionSeq, limit - removed)
      }
      return removed
    },
  }
}
