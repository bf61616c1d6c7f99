import type { Instant } from '@org/agent-messaging-core'
import {
  decideMove,
  WAITING,
  type JumpReport,
  type Move,
  type MoveResult,
} from '@org/agent-messaging-core/storage'
import type { Dialect } from './dialect.js'
import { one, run, sql, type Operation } from './operation.js'

type Named = { readonly name: string }
type Setting = Named & { readonly value: string }
type Jump = { readonly from: Instant; readonly to: Instant; readonly first: Instant }

/** The columns with due times, by table, and the rows that are open. */
const TIMES: readonly (readonly [table: string, column: string, open: string])[] = [
  ['sessions', 'due_at', `due_at < ${WAITING}`],
  ['messages', 'not_before', 'open'],
  ['messages', 'deadline_at', 'open'],
  ['messages', 'input_due_at', 'true'],
  ['deliveries', 'due_at', `due_at < ${WAITING}`],
  ['deliveries', 'resume_at', 'due_at is not null'],
  ['webhooks', 'circuit_until', 'true'],
  ['webhooks', 'previous_until', 'true'],
  ['agents', 'owned_until', 'true'],
  ['agents', 'retry_at', 'true'],
  ['event_listeners', 'owned_until', 'true'],
]
/** Only open messages have due times. */
const ofOpenSession = (schema: string): string =>
  `session_seq in (select seq from ${schema}sessions where due_at is not null)`
const moves = TIMES.map(([table, column, open]) =>
  sql<Jump>(
    ({ schema }: Dialect) => `
      update ${schema}${table}
      set ${column} = case when ${column} > @from then ${column} + @to - @from else @to end
      where ${open === 'open' ? ofOpenSession(schema) : open} and ${column} is not null
        and ${column} > @first`,
  ),
)
const read = sql<Named, Setting>(
  ({ schema }) => `select value from ${schema}settings where name = @name`,
)
const write = sql<Setting>(
  ({ schema }) => `update ${schema}settings set value = @value where name = @name`,
)
/** The row of the moves is also the lock of a move. */
const lock = sql<Named, Setting>(
  ({ schema }) => `
    insert into ${schema}settings (name, value) values (@name, '[]')
    on conflict (name) do update set value = settings.value returning value`,
)

const MOVES: Named = { name: 'clock_moves' }
/** The last time that a process has read from the database's clock. SQLite has none. */
const SEEN: Named = { name: 'clock_seen' }

const movesIn = (row: Setting | undefined): readonly Move[] =>
  JSON.parse(row?.value ?? '[]') as readonly Move[]

/** `Storage.lastMove`. */
export function* lastMove(): Operation<number> {
  return movesIn(yield* one(read, MOVES)).at(-1)?.number ?? 0
}

export function* lastSeenAt(): Operation<Instant | undefined> {
  const seen = yield* one(read, SEEN)
  return seen && Number(seen.value)
}

/** `Storage.moveTimes`. */
export function* moveTimes({ from, to, lastMove: last }: JumpReport): Operation<MoveResult> {
  const seen = { moves: movesIn(yield* one(lock, MOVES)), seenAt: yield* lastSeenAt() }
  const { moves: done, ...result } = decideMove({ from, to, lastMove: last }, seen)
  if (!done) return result
  for (const move of moves) yield* run(move, { from, to, first: Math.min(from, to) })
  yield* run(write, { ...MOVES, value: JSON.stringify(done) })
  yield* run(write, { ...SEEN, value: String(to) })
  return result
}
