import type { Result } from 'neverthrow'
import type { Unavailable } from '../ports/stored.js'
import type { ActiveSpan, Tracing } from '../ports/tracing.js'
import { NO_SPAN } from './no-tracing.js'

type Write<T> = PromiseLike<Result<T, Unavailable>>

/** Follows a write until it is durable. `operation` is the name of the store's method. */
export function tracedCommit<T>(
  tracing: Tracing,
  cause: Pick<ActiveSpan, 'trace'>,
  operation: string,
  write: () => Write<T>,
): Write<T> {
  const span = tracing.start({ name: 'store.commit', parent: cause.trace, details: { operation } })
  return span === NO_SPAN ? write() : ended(span, write())
}

async function ended<T>(span: ActiveSpan, writing: Write<T>): Promise<Result<T, Unavailable>> {
  const result = await writing
  span.end({ error: result.isErr() ? result.error.reason : undefined })
  return result
}
