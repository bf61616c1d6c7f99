import type { Queries } from './database.js'
import { sql } from './sql.js'

// What is erased or deleted is only disowned at first, in a commit of one row or two, for readers reach messages by their session's
// agent alone. So nobody waits until a million rows are gone, and a crash in the middle of it shows nothing by halves.

type Owner = { readonly owner: string }
type Session = { readonly seq: number }

const insertSql = sql<Owner>(
  'insert into agent_messaging.erasures (agent_id) values (@owner) on conflict do nothing',
)
/** Whoever sweeps one has it alone. */
const oldestSql = sql<object, Owner>(
  'select agent_id as owner from agent_messaging.erasures order by seq limit 1 for update skip locked',
)
const finishSql = sql<Owner>('delete from agent_messaging.erasures where agent_id = @owner')
const sessionSql = sql<Owner, Session>(
  'select seq from agent_messaging.sessions where agent_id = @owner order by seq limit 1 for update',
)
const removeSessionSql = sql<Session>('delete from agent_messaging.sessions where seq = @seq')
const removeMessagesSql = sql<Session & { readonly limit: number }>(`
  delete from agent_messaging.messages where seq in (select seq from agent_messaging.messages where session_seq = @seq limit @limit)`)

/** Nothing finds the messages of this owner's sessions from now on: it is not, or no more, an agent. */
export const addErasure = (db: Queries, owner: string): Promise<number> =>
  db.run(insertSql, { owner })

/** Removes up to `limit` rows of what was added; gives how many. */
export async function sweep(db: Queries, limit: number): Promise<number> {
  let removed = 0
  while (removed < limit) {
    const erased = await db.one(oldestSql, {})
    if (!erased) break
    const session = await db.one(sessionSql, erased)
    if (session) removed += await sweepSession(db, session, limit - removed)
    else await db.run(finishSql, erased)
  }
  return removed
}

/** At most `limit` rows of one session; the session itself when its messages are gone. */
async function sweepSession(db: Queries, { seq }: Session, limit: number): Promise<number> {
  const removed = await db.run(removeMessagesSql, { seq, limit })
  return removed < limit ? removed + (await db.run(removeSessionSql, { seq })) : removed
}
