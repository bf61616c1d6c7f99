import type { Queries } from '../database/database.js'
import { sql } from '../database/sql.js'

type Session = { readonly sessionSeq: number }

const setStateSql = sql<Session & { readonly sessionState: string }>(
  'update agent_messaging.sessions set state = @sessionState where seq = @sessionSeq',
)

export const remember = (db: Queries, sessionSeq: number, sessionState: string): Promise<number> =>
  db.run(setStateSql, { sessionSeq, sessionState })

const removeEmptySql = sql<Session>(`
  delete from agent_messaging.sessions s where seq = @sessionSeq
    and not exists (select 1 from agent_messaging.messages m where m.session_seq = s.seq)`)
const deleteStateSql = sql<Session>(
  'update agent_messaging.sessions set state = null where seq = @sessionSeq',
)
const renewLastSql = sql<{ readonly seqs: readonly number[] }>(`
  update agent_messaging.sessions s set (last_message_id, last_message_at) =
    (select max(id), max(created_at) from agent_messaging.messages m where m.session_seq = s.seq)
  where seq = any(@seqs::bigint[])
    and not exists (select 1 from agent_messaging.messages m where m.id = s.last_message_id)`)

/** Updates the newest message of locked sessions whose newest message was deleted. */
export const renewLast = (db: Queries, seqs: readonly number[]): Promise<number> =>
  db.run(renewLastSql, { seqs })

/**
 * Deletes the stored state of a session after the messages of an end user were deleted, because the
 * state can contain data of that user. Deletes a session without messages.
 */
export async function forget(db: Queries, sessionSeq: number): Promise<void> {
  if ((await db.run(removeEmptySql, { sessionSeq })) > 0) return
  await db.run(deleteStateSql, { sessionSeq })
  await renewLast(db, [sessionSeq])
}
