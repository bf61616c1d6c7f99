import { err, ok, safeTry, type ResultAsync } from 'neverthrow'
import {
  ownEndUser,
  type Access,
  type AccessRestricted,
  type ByAccess,
} from '../domain/access/access.js'
import { given } from '../domain/values/given.js'
import type { Platform } from '../platform.js'
import type { InScope, MessageSearch } from '../ports/message-store.js'
import type { Unavailable } from '../ports/stored.js'
import { chain } from '../pacing/chain.js'

/** The sessions that a list shows to the caller. */
export const scopeOf = (access: Access | undefined): InScope =>
  access === undefined || access.sessions === 'all' ? {} : { scope: access.sessions }

type Asked = ByAccess & { readonly projectId: string; readonly endUserId?: string | undefined }

/** Returns the search as the caller can make it. */
export const searchOf = (
  { storage }: Pick<Platform, 'storage'>,
  { access, ...search }: Asked,
): ResultAsync<MessageSearch, AccessRestricted | Unavailable> =>
  safeTry(async function* () {
    const endUserId = ownEndUser(access, search.endUserId)
    if (endUserId.isErr()) return err(endUserId.error)
    const agentIds: string[] = []
    for (const name of access?.agents ?? []) {
      const agent = yield* chain(storage.agents.get(search.projectId, name))
      if (agent) agentIds.push(agent.id)
    }
    return ok({
      ...given({ ...search, endUserId: endUserId.value }),
      ...scopeOf(access),
      ...(access?.agents && { agentIds }),
    } as MessageSearch)
  })
