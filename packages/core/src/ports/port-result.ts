/** The answer of a port. It is a plain object, so an adapter needs no library to make one. */
export type PortResult<T, E> = Success<T> | Failure<E>

type Success<T> = { readonly ok: true; readonly value: T }
type Failure<E> = { readonly ok: false; readonly error: E }

export const success = <T>(value: T): Success<T> => ({ ok: true, value })
export const failure = <const E>(error: E): Failure<E> => ({ ok: false, error })
