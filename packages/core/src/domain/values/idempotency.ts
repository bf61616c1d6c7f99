import type { Issue } from './input-rules.js'

/** A key or an id was used for something else. `issues` names the ids of a request. */
export type IdempotencyMismatch = {
  readonly kind: 'idempotency_mismatch'
  readonly issues?: readonly Issue[]
}
