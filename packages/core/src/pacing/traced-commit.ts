import type { Invalid } from '../domain/values/input-rules.js'
import type { PortResult } from '../ports/port-result.js'
import type { Unavailable } from '../ports/stored.js'
import type { ActiveSpan, Tracing } from '../ports/tracing.js'
import { NO_SPAN } from './no-tracing.js'

type Write<T, E> = Promise<PortResult<T, E>>

/** Follows a write until it is durable. `operation` is the name of the store's method. */
export function tracedCommit<T, E extends Unavailable | Invalid>(
  tracing: Tracing,
  cause: Pick<ActiveSpan, 'trace'>,
  operation: string,
  write: () => Write<T, E>,
): Write<T, E> {
  const span = tracing.start({ name: 'store.commit', parent: cause.trace, details: { operation } })
  return span === NO_SPAN ? write() : ended(span, write())
}

async function ended<T, E extends Unavailable | Invalid>(
  span: ActiveSpan,
  writing: Write<T, E>,
): Write<T, E> {
  const result = await writing
  span.end({ error: result.ok ? undefined : errorOf(result.error) })
  return result
}

/** The text of a span. */
export const errorOf = (error: Unavailable | Invalid): string =>
  error.kind === 'unavailable' ? error.reason : error.kind
