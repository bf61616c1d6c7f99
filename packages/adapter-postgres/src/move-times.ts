import { mustMoveTimes, WAITING, type ClockJump } from '@org/agent-messaging-core/storage'
import type { Queries } from './database.js'
import { sql } from './sql.js'

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

const moves = TIMES.map(([table, column, open]) =>
  sql<ClockJump>(`
    update agent_messaging.${table}
    set ${column} = greatest(@to::bigint, ${column} + @to::bigint - @from::bigint)
    where ${open} and ${column} is not null and ${column} > least(@from::bigint, @to::bigint)`),
)
/** The row of the last jump is also the lock of a move. */
const lockSql = sql<object, { readonly value: string }>(`
  insert into agent_messaging.settings (name, value) values ('clock_jump', '')
  on conflict (name) do update set value = settings.value
  returning value`)
const seenSql = sql<object, { readonly value: string }>(
  "select value from agent_messaging.settings where name = 'clock_seen'",
)
const writeSql = sql<{ readonly name: string; readonly value: string }>(`
  insert into agent_messaging.settings (name, value) values (@name, @value)
  on conflict (name) do update set value = excluded.value`)

/** `Storage.moveTimes`, within a transaction. */
export async function moveTimes(db: Queries, jump: ClockJump): Promise<boolean> {
  const last = await db.one(lockSql, {})
  const moved = last?.value ? (JSON.parse(last.value) as ClockJump) : undefined
  if (!mustMoveTimes(jump, { moved, seenAt: await lastSeenAt(db) })) return false
  for (const move of moves) await db.run(move, jump)
  await db.run(writeSql, { name: 'clock_jump', value: JSON.stringify(jump) })
  await db.run(writeSql, { name: 'clock_seen', value: String(jump.to) })
  return true
}

/** The last time that a process has read from the database's clock. */
export async function lastSeenAt(db: Queries): Promise<number | undefined> {
  const seen = await db.one(seenSql, {})
  return seen && Number(seen.value)
}
