import { ok, safeTry } from 'neverthrow'
import type { ByAccess } from '../domain/access/access.js'
import { auditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { ofPage, type PageInput } from '../domain/values/page-rules.js'
import type { CancelContext } from '../messages/change-messages.js'
import { scopeOf } from '../messages/scoped-lists.js'
import { erasePublished } from '../webhooks/erase-published.js'
import { cancelUntilRemoved } from '../messages/cancel-open.js'
import type { Unavailable } from '../ports/stored.js'
import type { Needs } from './context.js'
import type { Reading } from '../platform.js'
import { getAgent, type AgentRef } from './manage-agents.js'
import { chain } from '../pacing/chain.js'

type NotFound = { readonly kind: 'agent_not_found' }
export type ListSessionsInput = AgentRef & ByAccess & PageInput

export const listSessions =
  (d: Reading) =>
  ({ limit, cursor, ...ref }: ListSessionsInput) =>
    ofPage({ limit, cursor }, (checked) =>
      getAgent(d)(ref).andThen(({ projectId, id: agentId }) =>
        chain(
          d.storage.messages.listSessions({ projectId, agentId, ...scopeOf(ref.access) }, checked),
        ),
      ),
    )

export type EraseSessionInput = AgentRef &
  ByActor & {
    /** The id of the session. */
    readonly sessionId: string
    /** True cancels open messages first. Default: false. */
    readonly force?: boolean | undefined
  }
export type EraseSessionError =
  | Unavailable
  | NotFound
  | { readonly kind: 'session_not_found' | 'session_busy' }

export const eraseSession =
  (d: CancelContext & Needs<'waitingRoom' | 'maintenance'>) =>
  ({ sessionId, force = false, actor, ...ref }: EraseSessionInput) =>
    safeTry(async function* () {
      const { projectId, id: agentId, name: targetName } = yield* getAgent(d)(ref)
      const session = { projectId, agentId, sessionId }
      const target = { targetId: agentId, targetName }
      const audit = auditEntry(d, { projectId, action: 'session.erased', ...target, actor })
      const remove = () => chain(d.storage.messages.erase({ ...session, audit }))
      const erased = yield* force ? cancelUntilRemoved(d, session, remove, audit) : remove()
      if (erased === 'busy') return fail('session_busy')
      const events = yield* erasePublished(d, {
        ...session,
        ...(erased === undefined && { audit }),
      })
      if (erased === undefined && events === 0) return fail('session_not_found')
      d.waitingRoom.dismiss(
        (message) => message.agentId === agentId && message.sessionId === sessionId,
      )
      d.maintenance.wake()
      return ok(undefined)
    })
