import type { Queries } from '../database/database.js'
import { sql } from '../database/sql.js'

type Session = { readonly sessionSeq: number }

const setStateSql = sql<Session & { readonly sessionState: string }>(
  'update agent_messaging.sessions set state = @sessionState where seq = @sessionSeq',
)

export const remember = (db: Queries, sessionSeq: number, sessionState: string): Promise<number> =>
  db.run(setStateSql, { sessionSeq, sessionState })
