/** The parts of a statement that SQLite and PostgreSQL write in different ways. */
export type Dialect = {
  /** Begins the name of a table, such as `agent_messaging.`. */
  readonly schema: string
  /** Keeps the selected rows for this transaction. On SQLite, a transaction has the whole file. */
  readonly lock: (strength: string) => string
  /** The condition that a column of booleans is false. */
  readonly not: (column: string) => string
  /** The condition that a text starts with a constant. */
  readonly startsWith: (column: string, text: string) => string
  /** The condition that a column of texts has a value of the parameter's list. */
  readonly oneOf: (column: string, list: string) => string
  /** A table of the parameter's elements, with the column `value`. */
  readonly each: (list: string) => string
  /**
   * The condition that a column has one of the selected values, which the statement finds first.
   */
  readonly among: (column: string, select: string) => string
}

/**
 * Writes a `limit` with a bound number. Never write one in another way. SQLite reads a bare bound
 * number while it plans, and so prepares the statement again at each binding, which triples the
 * cost of a short query. SQLite evaluates a sum only when the query runs.
 */
export const atMost = (parameter: string): string => `limit ${parameter} + 0`
