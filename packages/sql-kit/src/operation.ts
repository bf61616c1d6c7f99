import type { Stored } from '@org/agent-messaging-core/storage'
import type { Dialect } from './dialect.js'

/** The text of a statement, with `@name` for each parameter. */
export type Sql<Parameters extends object = object, Row = unknown> = {
  (dialect: Dialect): string
  /** Never set. Tells the compiler the types of the parameters and rows. */
  readonly type?: (parameters: Parameters) => Row
}

/** All statements whose text does not depend on an input. Stores prepare each at its first use. */
export const STATEMENTS: Sql<never>[] = []

/** Makes a statement at the top of a module. */
export function sql<Parameters extends object = object, Row = unknown>(
  text: (dialect: Dialect) => string,
): Sql<Parameters, Row> {
  STATEMENTS.push(text)
  return text
}

/** One statement to run. */
export type Step = { readonly statement: Sql<never>; readonly parameters: object }

/** The rows that the statement returned, and how many it returned or changed. */
export type Answer = { readonly rows: readonly unknown[]; readonly changes: number }

/**
 * The statements of one read, or of one transaction. A store can run an operation several times, so
 * an operation has no other effect.
 */
export type Operation<T> = Generator<Step, T, Answer>

/** Yields each step of the operation to `answer`. */
export type Operate<Input extends readonly unknown[], T> = (...input: Input) => Operation<T>

export function* all<Parameters extends object, Row>(
  statement: Sql<Parameters, Row>,
  parameters: NoInfer<Parameters>,
): Operation<readonly Row[]> {
  return (yield { statement, parameters }).rows as readonly Row[]
}

/** The statement returns one row at most. */
export function* one<Parameters extends object, Row>(
  statement: Sql<Parameters, Row>,
  parameters: NoInfer<Parameters>,
): Operation<Row | undefined> {
  return (yield* all(statement, parameters))[0]
}

/** Returns how many rows the statement changed or returned. */
export function* run<Parameters extends object>(
  statement: Sql<Parameters>,
  parameters: NoInfer<Parameters>,
): Operation<number> {
  return (yield { statement, parameters }).changes
}

type Method = <Input extends readonly unknown[], T>(
  operation: Operate<Input, T>,
) => (...input: Input) => Stored<T>

/** Makes the methods of a store. */
export type Runner = {
  /** Each statement reads committed data. */
  readonly read: Method
  /** The operation is one transaction. */
  readonly write: Method
}
