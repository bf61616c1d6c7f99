import type { History } from './history.js'

/** A broken promise. `of` is the id or key. */
export type Breach = { readonly of: string; readonly problem: string }
export type Violation = Breach & { readonly invariant: string }

/** Finds the violations of one promise in a history. */
export type Invariant = (history: History) => Generator<Breach>
