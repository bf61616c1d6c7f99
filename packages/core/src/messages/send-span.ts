import type { Result } from 'neverthrow'
import type { Accepted } from '../ports/message-store.js'
import { errorOf } from '../pacing/traced-commit.js'
import type { Invalid } from '../domain/input-rules.js'
import type { Unavailable } from '../ports/stored.js'
import type { ActiveSpan } from '../ports/tracing.js'

/** The store's result, after core has looked at the message of the key. */
export type Decided = Accepted | { readonly kind: 'idempotency_mismatch' }

/** A send that attached to an earlier message links to the trace of that message. */
export function endSend(span: ActiveSpan, stored: Result<Decided, Unavailable | Invalid>): void {
  if (stored.isErr()) return span.end({ error: errorOf(stored.error) })
  const accepted = stored.value
  switch (accepted.kind) {
    case 'claimed':
      return span.end({ messageId: accepted.claimed.message.id })
    case 'created':
      return span.end({ messageId: accepted.message.id })
    case 'existing':
      if (accepted.message.trace) span.link(accepted.message.trace)
      return span.end({ messageId: accepted.message.id, attached: true })
    default:
      return span.end({ error: accepted.kind })
  }
}
