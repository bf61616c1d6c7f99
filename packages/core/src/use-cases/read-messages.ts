import { ok, safeTry, type ResultAsync } from 'neverthrow'
import { fail } from '../domain/fail.js'
import type { Message, MessageStateKind } from '../domain/message.js'
import type { Page, PageOf, Unavailable } from '../ports/storage.js'
import type { Caller } from '../workers/waiting-room.js'
import type { Deps } from './deps.js'

export type GetMessageInput = {
  readonly projectId: string
  /** The agent's id or name. */
  readonly agent: string
  readonly messageId: string
  /** Waits up to so long for the message to become final (0: not at all). */
  readonly waitMs?: number | undefined
  readonly abort?: Caller | undefined
}
export type GetMessageError = Unavailable | { readonly kind: 'agent_not_found' | 'message_not_found' }

/** The message's later state. */
export const getMessage =
  (d: Pick<Deps, 'storage' | 'waitingRoom' | 'clock' | 'policy'>) =>
  ({ projectId, agent: name, messageId, waitMs = 0, abort }: GetMessageInput): ResultAsync<Message, GetMessageError> =>
    safeTry(async function* () {
      const agent = yield* d.storage.agents.get(projectId, name)
      if (!agent) return fail('agent_not_found')
      const message = yield* d.storage.messages.get({ projectId, agentId: agent.id, messageId })
      if (!message) return fail('message_not_found')
      const deadline = d.clock.now() + Math.min(waitMs, d.policy.syncWaitMs)
      const seen = await d.waitingRoom.wait(message, deadline, abort)
      if (waitMs === 0 || seen !== message) return ok(seen)
      // The wait ended without an answer; its state may have moved on all the same.
      const now = yield* d.storage.messages.get({ projectId, agentId: agent.id, messageId })
      return now ? ok(now) : fail('message_not_found')
    })

export type ListMessagesInput = {
  readonly projectId: string
  readonly agent: string
  readonly sessionId?: string | undefined
  readonly status?: 'pending' | 'responded' | undefined
  readonly state?: MessageStateKind | undefined
  /** `asc`: oldest first. */
  readonly order?: 'asc' | 'desc' | undefined
  readonly page: PageOf
}

/** An agent's messages, newest first unless told otherwise; those of one session by their places in it. */
export const listMessages =
  (d: Pick<Deps, 'storage'>) =>
  ({
    projectId,
    agent: name,
    sessionId,
    status,
    state,
    order,
    page,
  }: ListMessagesInput): ResultAsync<Page<Message>, Unavailable | { readonly kind: 'agent_not_found' }> =>
    safeTry(async function* () {
      const agent = yield* d.storage.agents.get(projectId, name)
      if (!agent) return fail('agent_not_found')
      const filter = {
        ...{ projectId, agentId: agent.id },
        ...(sessionId !== undefined && { sessionId }),
        ...(status && { status }),
        ...(state && { state }),
        ...(order && { order }),
      }
      return d.storage.messages.list(filter, page)
    })
