import { WAITING } from '@org/agent-messaging-core/storage'
import {
  type Answer,
  type Dialect,
  type Operate,
  type Runner,
  type Sql,
  type Step,
} from '@org/agent-messaging-sql-kit'
import type { Database, Statement } from 'better-sqlite3'
import { firstOfOrderSql } from '../deliveries/delivery-order.js'
import type { GroupCommitter } from './group-committer.js'
import { preparedOnce } from './statements.js'

export const dialect: Dialect = {
  schema: '',
  lock: () => '',
  not: (column) => `${column} = 0`,
  startsWith: (column, text) => `${column} glob '${text}*'`,
  oneOf: (column, list) => `${column} in (select value from json_each(@${list}))`,
  is: (column) => `${column} = 1`,
  plain: (column) => `+${column}`,
  join: 'cross join',
  json: (column, field) => `${column} ->> '${field}'`,
  unanswered: () => [{ table: 'messages', condition: "m.state <> 'responded'" }],
  endUser: "m.principal ->> 'endUserId'",
  hasEndUser: `instr(m.principal, '"endUserId"') > 0`,
  deliveryState: "iif(d.is_claimed = 1 and d.due_at is not null, 'sending', d.state)",
  contains: (column, parameter) => `instr(${column}, @${parameter}) > 0`,
  onServer: () => 'select 1',
  position: 'seq',
  raiseFloor: 'floor = max(l.floor, g.position)',
  isSending: '(d.is_claimed = 1 and d.due_at is not null)',
  setState: (state) => `state = '${state}', is_claimed = 0`,
  advanceOrders: `
    update deliveries set due_at = @now where coalesce(due_at, 0) = ${WAITING} and seq in (
      select (${firstOfOrderSql('value')}) from json_each(@orderKeys))`,
  records: (parameter, columns) =>
    `(select ${Object.keys(columns)
      .map((name) => `value ->> '${name}' as ${name}`)
      .join(', ')}
    from json_each(@${parameter}))`,
  each: (list) => `json_each(@${list})`,
  among: (column, select) => `${column} in (${select})`,
}

/** Runs operations on a connection, within a read or a transaction. */
export type Perform = <Input extends readonly unknown[], T>(
  operation: Operate<Input, T>,
  ...input: Input
) => T

export function performer(db: Database): Perform {
  const prepared = preparedOnce<object, unknown>(db)
  const known = new WeakMap<Sql<never>, Statement<[object]>>()

  function answer({ statement, parameters }: Step): Answer {
    const found = known.get(statement) ?? prepared(statement(dialect))
    known.set(statement, found)
    const values = Object.fromEntries(
      Object.entries(parameters).map(([name, value]) => [name, valueOf(value)]),
    )
    if (!found.reader) return { rows: [], changes: found.run(values).changes }
    const rows = found.all(values)
    return { rows, changes: rows.length }
  }

  return (operation, ...input) => {
    const steps = operation(...input)
    let step = steps.next()
    while (!step.done) step = steps.next(answer(step.value))
    return step.value
  }
}

/** The driver refuses booleans, lists and undefined. */
function valueOf(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  return Array.isArray(value) ? JSON.stringify(value) : (value ?? null)
}

/** `changed` is called in each transaction that writes. */
export const runnerOf = (
  committer: GroupCommitter,
  perform: Perform,
  changed = (): void => undefined,
): Runner => ({
  read:
    (operation) =>
    (...input) =>
      committer.read(() => perform(operation, ...input)),
  write:
    (operation) =>
    (...input) =>
      committer.write(() => {
        changed()
        return perform(operation, ...input)
      }),
})
