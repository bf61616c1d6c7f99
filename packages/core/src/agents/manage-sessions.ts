import { ok, safeTry, type ResultAsync } from 'neverthrow'
import { fail } from '../domain/fail.js'
import type { SessionSummary } from '../ports/message-store.js'
import type { Page, PageOf, Unavailable } from '../ports/stored.js'
import type { AgentsContext } from './context.js'
import type { Platform } from '../platform.js'
import { getAgent, type AgentRef } from './manage-agents.js'

type NotFound = { readonly kind: 'agent_not_found' }
export type ListSessionsInput = AgentRef & { readonly page: PageOf }

/** An agent's sessions, those with the newest messages first. */
export const listSessions =
  (d: Platform) =>
  ({
    page,
    ...ref
  }: ListSessionsInput): ResultAsync<Page<SessionSummary>, Unavailable | NotFound> =>
    getAgent(d)(ref).andThen(({ projectId, id: agentId }) =>
      d.storage.messages.listSessions({ projectId, agentId }, page),
    )

export type EraseSessionInput = AgentRef & {
  readonly sessionId: string
  readonly force?: boolean | undefined
}
export type EraseSessionError =
  | Unavailable
  | NotFound
  | { readonly kind: 'session_not_found' | 'session_busy' }

/**
 * Erases a session with its messages, whatever their number: nothing finds them from here on, and
 * a message sent later begins the session afresh. `session_busy` while messages are open, unless
 * forced: their runs lose their leases, and nobody here waits for them any more.
 */
export const eraseSession =
  (d: AgentsContext) =>
  ({ sessionId, force = false, ...ref }: EraseSessionInput): ResultAsync<void, EraseSessionError> =>
    safeTry(async function* () {
      const { projectId, id: agentId } = yield* getAgent(d)(ref)
      const erased = yield* d.storage.messages.erase({ projectId, agentId, sessionId, force })
      if (erased === undefined) return fail('session_not_found')
      if (erased === 'busy') return fail('session_busy')
      d.waitingRoom.dismiss(
        (message) => message.agentId === agentId && message.sessionId === sessionId,
      )
      d.maintenance.wake()
      return ok(undefined)
    })
