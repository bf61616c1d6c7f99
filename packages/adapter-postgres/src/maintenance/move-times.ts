import {
  decideMove,
  WAITING,
  type ClockJump,
  type JumpReport,
  type Move,
  type MoveResult,
} from '@org/agent-messaging-core/storage'
import type { Queries } from '../database/database.js'
import { sql } from '../database/sql.js'

/** The columns with due times, by table, and the rows that are open. */
const TIMES: readonly (readonly [table: string, column: string, open: string])[] = [
  ['sessions', 'due_at', `due_at is not null and due_at < ${WAITING}`],
  ['messages', 'not_before', 'response is null'],
  ['messages', 'deadline_at', 'response is null'],
  ['messages', 'input_due_at', 'input_due_at is not null'],
  ['deliveries', 'due_at', `due_at is not null and due_at < ${WAITING}`],
  ['deliveries', 'resume_at', 'due_at is not null'],
  ['webhooks', 'circuit_until', 'true'],
  ['webhooks', 'previous_until', 'true'],
  ['agents', 'owned_until', 'true'],
  ['agents', 'retry_at', 'true'],
]

const moveSqls = TIMES.map(([table, column, open]) =>
  sql<ClockJump>(`
    update agent_messaging.${table}
    set ${column} = greatest(@to::bigint, ${column} + @to::bigint - @from::bigint)
    where ${open} and ${column} is not null and ${column} > least(@from::bigint, @to::bigint)`),
)
/** The row of the moves is also the lock of a move. */
const lockSql = sql<object, { readonly value: string }>(`
  insert into agent_messaging.settings (name, value) values ('clock_moves', '[]')
  on conflict (name) do update set value = settings.value
  returning value`)
const readSql = sql<{ readonly name: string }, { readonly value: string }>(
  'select value from agent_messaging.settings where name = @name',
)
const writeSql = sql<{ readonly name: string; readonly value: string }>(`
  insert into agent_messaging.settings (name, value) values (@name, @value)
  on conflict (name) do update set value = excluded.value`)

/** `Storage.moveTimes`, within a transaction. */
export async function moveTimes(
  db: Queries,
  { from, to, lastMove }: JumpReport,
): Promise<MoveResult> {
  const done = movesIn(await db.one(lockSql, {}))
  const seen = { moves: done, seenAt: await lastSeenAt(db) }
  const { moves, ...result } = decideMove({ from, to, lastMove }, seen)
  if (!moves) return result
  for (const move of moveSqls) await db.run(move, { from, to })
  await db.run(writeSql, { name: 'clock_moves', value: JSON.stringify(moves) })
  await db.run(writeSql, { name: 'clock_seen', value: String(to) })
  return result
}

/** `Storage.lastMove`. */
export const lastMoveIn = async (db: Queries): Promise<number> =>
  movesIn(await db.one(readSql, { name: 'clock_moves' })).at(-1)?.number ?? 0

const movesIn = (row: { readonly value: string } | undefined): readonly Move[] =>
  JSON.parse(row?.value ?? '[]') as readonly Move[]

/** The last time that a process has read from the database's clock. */
export async function lastSeenAt(db: Queries): Promise<number | undefined> {
  const seen = await db.one(readSql, { name: 'clock_seen' })
  return seen && Number(seen.value)
}
