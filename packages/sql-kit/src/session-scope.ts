import type { SessionScope } from '@org/agent-messaging-core/storage'
import type { Dialect } from './dialect.js'

/**
 * The condition that a session `s` is in the scope. The index on the agent and the session id finds
 * these sessions: both databases compare session ids by their bytes, so a prefix is a range.
 */
export const inScope = (scope: SessionScope, { oneOf }: Pick<Dialect, 'oneOf'>): string =>
  'ids' in scope
    ? oneOf('s.session_id', 'scopeIds')
    : 's.session_id >= @scopeFrom and s.session_id < @scopeBelow'

/** The parameters of `inScope`. */
export function scopeParameters(scope: SessionScope | undefined): object {
  if (scope === undefined) return {}
  return 'ids' in scope
    ? { scopeIds: scope.ids }
    : { scopeFrom: scope.prefix, scopeBelow: textAfter(scope.prefix) }
}

/** Returns the first text after all texts with the prefix, which ends with an ASCII character. */
const textAfter = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
