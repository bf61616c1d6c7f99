import { byApiKey, refusalOfAccess, type KitEnv } from '@org/agent-messaging-http-kit'
import type { EndpointService, Permission } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { refuse } from './errors.js'

/**
 * Sets the access of the request. Returns a refusal if the key is invalid or lacks the permission.
 * With `recalls`, a key that was valid before is not read again: give `sentBy` to the send.
 */
export async function refuseUnauthorized(
  c: Context<KitEnv>,
  {
    service: { keys },
    ...needed
  }: {
    readonly service: EndpointService
    readonly permission: Permission
    readonly recalls?: boolean
  },
): Promise<Response | undefined> {
  const refusal = await refusalOfAccess(c, byApiKey(keys), needed)
  return refusal && refuse(c, refusal)
}
