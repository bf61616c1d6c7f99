import {
  decideMove,
  WAITING,
  type ClockJump,
  type JumpReport,
  type Move,
  type MoveResult,
} from '@org/agent-messaging-core/storage'
import type { Database, Statement } from 'better-sqlite3'
import type { WebhookRows } from '../webhooks/receivers.js'

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

/** `Storage.moveTimes`. */
export class Times {
  readonly #read: Statement<[], string>
  readonly #write: Statement<[string]>
  readonly #moves: readonly Statement<ClockJump>[]
  readonly #webhooks: WebhookRows

  constructor(db: Database, webhooks: WebhookRows) {
    const readSql = "select value from settings where name = 'clock_moves'"
    this.#read = db.prepare<[], string>(readSql).pluck()
    this.#write = db.prepare(
      "insert or replace into settings (name, value) values ('clock_moves', ?)",
    )
    this.#moves = TIMES.map((times) => db.prepare(moveSql(times)))
    this.#webhooks = webhooks
  }

  lastMove(): number {
    return this.#done().at(-1)?.number ?? 0
  }

  /** Must run in a transaction. */
  move({ from, to, lastMove }: JumpReport): MoveResult {
    const { moves, ...result } = decideMove({ from, to, lastMove }, { moves: this.#done() })
    if (!moves) return result
    this.#write.run(JSON.stringify(moves))
    for (const move of this.#moves) move.run({ from, to })
    this.#webhooks.changed()
    return result
  }

  #done(): readonly Move[] {
    return JSON.parse(this.#read.get() ?? '[]') as readonly Move[]
  }
}
