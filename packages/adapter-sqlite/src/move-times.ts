import { mustMoveTimes, WAITING, type ClockJump } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'
import type { WebhookRows } from './webhook-rows.js'

/** The columns with due times, by table, and the rows that are open. */
const TIMES: readonly (readonly [table: string, column: string, open: string])[] = [
  ['sessions', 'due_at', `due_at is not null and due_at < ${WAITING}`],
  ['messages', 'not_before', "state <> 'responded'"],
  ['messages', 'deadline_at', "state <> 'responded'"],
  ['messages', 'input_due_at', 'input_due_at is not null'],
  ['deliveries', 'due_at', `due_at is not null and due_at < ${WAITING}`],
  ['deliveries', 'resume_at', 'due_at is not null'],
  ['webhooks', 'circuit_until', 'true'],
  ['webhooks', 'previous_until', 'true'],
  ['agents', 'owned_until', 'true'],
  ['agents', 'retry_at', 'true'],
]

const moveSql = ([table, column, open]: (typeof TIMES)[number]): string =>
  `update ${table} set ${column} = max(@to, ${column} + @to - @from)
   where ${open} and ${column} is not null and ${column} > min(@from, @to)`

/** `Storage.moveTimes`, to run in a transaction. */
export function moverOfTimes(db: Database, webhooks: WebhookRows): (jump: ClockJump) => boolean {
  const moves = TIMES.map((times) => db.prepare<ClockJump>(moveSql(times)))
  const read = db
    .prepare<[], string>("select value from settings where name = 'clock_jump'")
    .pluck()
  const write = db.prepare<[string]>(
    "insert or replace into settings (name, value) values ('clock_jump', ?)",
  )
  return (jump) => {
    const text = read.get()
    const moved = text === undefined ? undefined : (JSON.parse(text) as ClockJump)
    if (!mustMoveTimes(jump, { moved })) return false
    write.run(JSON.stringify(jump))
    for (const move of moves) move.run(jump)
    webhooks.changed()
    return true
  }
}
