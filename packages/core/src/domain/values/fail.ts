import { err, type Err } from 'neverthrow'

/**
 * Returns `err({ kind })` with the literal type. Inside `safeTry`, a plain `err` widens to string
 * and loses the closed union.
 */
export const fail = <const K extends string>(kind: K): Err<never, { kind: K }> => err({ kind })
