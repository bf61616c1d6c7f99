import { err, type Err } from 'neverthrow'

/** `err({ kind })` with the literal kept: inside `safeTry` a bare `err` widens to string and loses the closed union. */
export const fail = <const K extends string>(kind: K): Err<never, { kind: K }> => err({ kind })
