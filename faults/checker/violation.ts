import type { History } from './history.js'

/** Where a promise was broken: `of` is the id or key that it is about. */
type Breach = { readonly of: string; readonly what: string }
export type Violation = Breach & { readonly invariant: string }

/** Looks through a whole history for breaches of one promise. */
export type Invariant = (history: History) => Generator<Breach>
