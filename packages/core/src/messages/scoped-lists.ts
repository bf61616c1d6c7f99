import { err, ok, safeTry } from 'neverthrow'
import { ownEndUser, seesAgent, type Access, type ByAccess } from '../domain/access/access.js'
import { fail } from '../domain/values/fail.js'
import { given } from '../domain/values/given.js'
import type { Platform } from '../platform.js'
import type { InScope, MessageSearch } from '../ports/message-store.js'
import { chain } from '../pacing/chain.js'

/** The sessions that a list shows to the caller. */
export const scopeOf = (access: Access | undefined): InScope =>
  access === undefined || access.sessions === 'all' ? {} : { scope: access.sessions }

type Asked = ByAccess & {
  readonly projectId: string
  readonly agent?: string | undefined
  readonly sessionId?: string | undefined
  readonly endUserId?: string | undefined
}

/** Returns the search as the caller can make it. */
export const searchOf = (
  { storage }: Pick<Platform, 'storage'>,
  { access, agent: asked, ...search }: Asked,
) =>
  safeTry(async function* () {
    const endUserId = ownEndUser(access, search.endUserId)
    if (endUserId.isErr()) return err(endUserId.error)
    const names = asked === undefined ? access?.agents : [asked]
    const agentIds: string[] = []
    for (const name of names ?? []) {
      const agent = yield* chain(storage.agents.get(search.projectId, name))
      if (agent && seesAgent(access, agent)) agentIds.push(agent.id)
    }
    if (asked !== undefined && agentIds.length === 0) return fail('agent_not_found')
    return ok({
      ...given({ ...search, endUserId: endUserId.value }),
      ...scopeOf(access),
      ...(names && { agentIds }),
    } as MessageSearch)
  })
