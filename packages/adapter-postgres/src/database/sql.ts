import { createHash } from 'node:crypto'

/** A statement for PostgreSQL, with `$1`, `$2` for its parameters in the order of `names`. */
export type Sql<Parameters extends object = object, Row = unknown> = {
  readonly text: string
  readonly names: readonly string[]
  /** The statement is prepared once per connection, under this name. */
  readonly preparedAs?: string
  /** Never set. Tells the compiler the types of the parameters and rows. */
  readonly type?: (parameters: Parameters) => Row
}

const NAME = /(?<![\w@])@([a-zA-Z]\w*)/g

/** Makes a statement from a template with `@name` for each parameter. */
export function sql<Parameters extends object = object, Row = unknown>(
  template: string,
): Sql<Parameters, Row> {
  const names: string[] = []
  const text = template.replace(NAME, (_, name: string) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { text, names }
}

/**
 * Returns rows as a parameter for `jsonb_to_recordset`. An undefined column is null. A lone
 * surrogate becomes U+FFFD, because `jsonb` refuses it.
 */
export function jsonRows(rows: readonly object[]): string {
  const text = JSON.stringify(rows)
  return text.includes(String.raw`\ud`) ? JSON.stringify(rows, wellFormed) : text
}

const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value

/**
 * Makes a statement that calls a function and reads no table. Its plan is always right, so each
 * connection parses and plans it once.
 */
export function call<Parameters extends object = object, Row = unknown>(
  template: string,
): Sql<Parameters, Row> {
  const statement = sql<Parameters, Row>(template)
  const hash = createHash('sha256').update(statement.text).digest('hex').slice(0, 16)
  return { text: statement.text, names: statement.names, preparedAs: `agent_messaging_${hash}` }
}

/** A row of `jsonRows` without the columns that are null: each key would be parsed. */
export function withoutNulls<Columns extends object>(columns: Columns): Partial<Columns> {
  const present: Partial<Columns> = {}
  for (const name in columns) if (columns[name] !== null) present[name] = columns[name]
  return present
}
