import { err, ok, type Result } from 'neverthrow'
import type { Invalid } from '../domain/values/input-rules.js'
import { typeIssues, type TypedData } from '../domain/webhooks/event-type.js'
import type { Platform } from '../platform.js'
import type { HostTransaction } from '../ports/storage.js'
import type { Unavailable } from '../ports/stored.js'

/**
 * Refuses events whose types are not in the catalogue, or whose data does not match. Accepts all
 * unless `policy.strictEventTypes` is set. `within`: the path of an event in its request, with a
 * dot.
 */
export async function checkTypes(
  { policy, storage }: Pick<Platform, 'policy' | 'storage'>,
  projectId: string,
  events: readonly TypedData[],
  within: (index: number) => string,
  { eventTypes }: Pick<HostTransaction, 'eventTypes'> = storage,
): Promise<Result<void, Invalid | Unavailable>> {
  if (!policy.strictEventTypes) return ok(undefined)
  const found = await eventTypes.find(projectId, [...new Set(events.map(({ type }) => type))])
  if (!found.ok) return err(found.error)
  const issues = typeIssues(events, found.value, within)
  return issues.length === 0 ? ok(undefined) : err({ kind: 'invalid', issues })
}
