import { endUserMark, isEndUser, type ExecutionPrincipal } from '../access/principal.js'
import type { WebhookEvent } from './event.js'
import { isPublished } from './event-name.js'

export type OfPerson = Pick<WebhookEvent, 'name' | 'body'> & {
  readonly endUserId?: string | null | undefined
}

/**
 * Returns true if the event is of this end user: of the principal in the body, or of the person that
 * was named when the event was published. Data and metadata of a host do not count.
 */
export function isForEndUser(
  { name, body, endUserId: named }: OfPerson,
  endUserId: string,
): boolean {
  if (isPublished(name)) return named === endUserId
  if (!body.includes(endUserMark(endUserId))) return false
  const { data } = JSON.parse(body) as {
    readonly data: { readonly executionPrincipal?: ExecutionPrincipal }
  }
  return data.executionPrincipal !== undefined && isEndUser(data.executionPrincipal, endUserId)
}
