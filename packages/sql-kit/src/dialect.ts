import type { DeliveryStatus, MessageStateKind } from '@org/agent-messaging-core/storage'

/** A table with the columns of messages, and the condition of its rows, for the alias `m`. */
export type MessageSource = { readonly table: string; readonly condition: string }

/** The parts of a statement that SQLite and PostgreSQL write in different ways. */
export type Dialect = {
  /** Begins the name of a table, such as `agent_messaging.`. */
  readonly schema: string
  /**
   * Keeps the selected rows for this transaction, in an order if one is given. On SQLite, a
   * transaction has the whole file.
   */
  readonly lock: (strength: string, order?: string) => string
  /** The condition that a column of booleans is true. */
  readonly is: (column: string) => string
  /** The condition that a column of booleans is false. */
  readonly not: (column: string) => string
  /** The condition that a text starts with a constant. */
  readonly startsWith: (column: string, text: string) => string
  /** The condition that a column has a value of the parameter's list, of texts by default. */
  readonly oneOf: (column: string, list: string, type?: 'text' | 'bigint') => string
  /** Keeps SQLite's planner from the indexes of a column. */
  readonly plain: (column: string) => string
  /** Joins a table after the ones before it. */
  readonly join: string
  /** The text of a field of a JSON object. */
  readonly json: (column: string, field: string) => string
  /** The messages of an agent that have no answer, of one state if it is given. */
  readonly unanswered: (agentId: string, state?: MessageStateKind) => readonly MessageSource[]
  /** The end user of a message `m`, as its indexes have it. */
  readonly endUser: string
  /** The condition that a message `m` has an end user. */
  readonly hasEndUser: string
  /** The condition that a text contains the parameter. */
  readonly contains: (column: string, parameter: string) => string
  /** A statement for PostgreSQL alone. On SQLite, a transaction has the whole file. */
  readonly onServer: (statement: string) => string
  /** The column with the position of an event in the log of its project. */
  readonly position: string
  /**
   * Sets the floor of a log `l` for `g`: the highest `position` of deleted events, and whether one
   * was `unplaced`.
   */
  readonly raiseFloor: string
  /** The state of a delivery `d`. */
  readonly deliveryState: string
  /** The condition that a delivery `d` is claimed. */
  readonly isSending: string
  /** Sets the state of a delivery that is not claimed. */
  readonly setState: (state: DeliveryStatus) => string
  /** Makes the first open delivery with each of `@orderKeys` due `@now`, if it waits. */
  readonly advanceOrders: string
  /** A table of the parameter's objects, which are JSON, with the types of its columns. */
  readonly records: (parameter: string, columns: Readonly<Record<string, string>>) => string
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
