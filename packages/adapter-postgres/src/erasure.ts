import type { Queries } from './database.js'
import { sql } from './sql.js'

// To erase messages, a store first gives their session an owner that is not an agent. Readers find
// messages only by the agent of their session. So an erasure of a million rows is one small commit,
// and a crash never shows a part of it. The sweep deletes the rows later.

type Owner = { readonly owner: string }
type Session = { readonly seq: number }

const insertSql = sql<Owner>(
  'insert into agent_messaging.erasures (agent_id) values (@owner) on conflict do nothing',
)
/** Concurrent sweeps take different owners. */
const oldestSql = sql<object, Owner>(
  'select agent_id as owner from agent_messaging.erasures order by seq limit 1 for update skip locked',
)
const finishSql = sql<Owner>('delete from agent_messaging.erasures where agent_id = @owner')
const sessionSql = sql<Owner, Session>(
  'select seq from agent_messaging.sessions where agent_id = @owner order by seq limit 1 for update',
)
const removeSessionSql = sql<Session>('delete from agent_messaging.sessions where seq = @seq')
const removeMessagesSql = sql<Session & { readonly limit: number }>(`
  delete from agent_messaging.messages where seq = any(array(
    select seq from agent_messaging.messages where session_seq = @seq limit @limit))`)

/** Registers the sessions of an owner, which is not an agent any more, for the sweep. */
export const addErasure = (db: Queries, owner: string): Promise<number> =>
  db.run(insertSql, { owner })

/** Deletes up to `limit` rows of registered owners. Returns how many. */
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

/** Deletes up to `limit` rows of one session, and then the session. */
async function sweepSession(db: Queries, { seq }: Session, limit: number): Promise<number> {
  const removed = await db.run(removeMessagesSql, { seq, limit })
  return removed < limit ? removed + (await db.run(removeSessionSql, { seq })) : removed
}
