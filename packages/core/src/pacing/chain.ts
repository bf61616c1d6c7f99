import { err, ok, ResultAsync, type Result } from 'neverthrow'
import { fail } from '../domain/values/fail.js'
import type { PortResult } from '../ports/port-result.js'
import type { Stored, Unavailable } from '../ports/stored.js'

/** The answer of the storage, in a form that use cases chain. */
export type Chained<T> = ResultAsync<T, Unavailable>

/** Lets a use case chain the answer of a port. Hot paths await the answer, which costs less. */
export const chain = <T, E>(answer: Promise<PortResult<T, E>>): ResultAsync<T, E> =>
  new ResultAsync(answer.then(resultOf))

const resultOf = <T, E>(answer: PortResult<T, E>): Result<T, E> =>
  answer.ok ? ok(answer.value) : err(answer.error)

/** Chains the answer like `chain`, and fails as `missing` if the store found or changed nothing. */
export const existing = <T, const K extends string>(answer: Stored<T>, missing: K) =>
  chain(answer).andThen((value) =>
    value ? ok(value as Exclude<T, undefined | false>) : fail(missing),
  )
