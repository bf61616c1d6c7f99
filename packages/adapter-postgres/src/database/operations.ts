import type { MessageStateKind } from '@org/agent-messaging-core/storage'
import type {
  Dialect,
  MessageSource,
  Operate,
  Runner,
  Sql as Statement,
} from '@org/agent-messaging-sql-kit'
import type { Gateway, Queries } from './gateway.js'
import { sql, type Sql } from './sql.js'

export const dialect: Dialect = {
  schema: 'agent_messaging.',
  lock: (strength, order) => `${order ? `order by ${order}` : ''} for ${strength}`,
  not: (column) => `not ${column}`,
  startsWith: (column, text) => `${column} like '${text}%'`,
  oneOf: (column, list, type = 'text') => `${column} = any(@${list}::${type}[])`,
  is: (column) => column,
  plain: (column) => column,
  join: 'join',
  json: (column, field) => `${column}::json ->> '${field}'`,
  unanswered,
  endUser: "m.principal::jsonb ->> 'endUserId'",
  hasEndUser: `strpos(m.principal, '"endUserId"') > 0`,
  deliveryState: 'd.state',
  contains: (column, parameter) => `position(@${parameter} in ${column}) > 0`,
  onServer: (statement) => statement,
  position: 'position',
  raiseFloor: `
    last_position = l.last_position + g.unplaced::int,
    floor = case when g.unplaced then l.last_position + 1 else greatest(l.floor, g.position) end`,
  isSending: "d.state = 'sending'",
  setState: (state) => `state = '${state}'`,
  advanceOrders: 'select agent_messaging.advance_orders(@orderKeys, @now)',
  records: (parameter, columns) =>
    `(select * from jsonb_to_recordset(@${parameter}::jsonb)
      as given (${Object.entries(columns)
        .map(([name, type]) => `${name} ${type}`)
        .join(', ')}))`,
  each: (list) => `unnest(@${list}::text[]) as each (value)`,
  among: (column, select) => `${column} = any(array(${select}))`,
}

/**
 * Running messages are the heads of sessions. An index of them would change with each answer, and
 * then each answer would write into all indexes. `offset 0` keeps the planner from other indexes.
 */
function unanswered(agentId: string, state?: MessageStateKind): readonly MessageSource[] {
  const idle = { table: 'agent_messaging.messages', condition: 'm.is_idle' }
  const running = {
    table: `(
      select head.* from agent_messaging.sessions s cross join lateral (
        select * from agent_messaging.messages
        where session_seq = s.seq and position = s.head_position offset 0) head
      where s.agent_id = ${agentId} and s.due_at is not null)`,
    condition: "m.state = 'running'",
  }
  if (state === undefined) return [idle, running]
  return [state === 'running' ? running : idle]
}

const known = new WeakMap<Statement<never>, Sql>()

function sqlOf(statement: Statement<never>): Sql {
  const made = known.get(statement) ?? sql(statement(dialect))
  known.set(statement, made)
  return made
}

/** Runs an operation. In a transaction, `db` is its connection. */
export async function perform<Input extends readonly unknown[], T>(
  db: Queries,
  operation: Operate<Input, T>,
  ...input: Input
): Promise<T> {
  const steps = operation(...input)
  let step = steps.next()
  while (!step.done) {
    const { statement, parameters } = step.value
    step = steps.next(await db.answer(sqlOf(statement), parameters))
  }
  return step.value
}

export const runnerOf = ({ read, write }: Gateway): Runner => ({
  read:
    (operation) =>
    (...input) =>
      read((db) => perform(db, operation, ...input)),
  write:
    (operation) =>
    (...input) =>
      write((db) => perform(db, operation, ...input)),
})
