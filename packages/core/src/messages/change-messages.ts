import { err, ok, safeTry, type ResultAsync } from 'neverthrow'
import { fail } from '../domain/fail.js'
import { decideCancellation, type Message } from '../domain/message.js'
import type { MessagesContext } from './context.js'
import { notRunning, type NotRunning } from '../domain/agent.js'
import { getMessage, type GetMessageError, type GetMessageInput } from './read-messages.js'
import { outgoingOf } from '../webhooks/outbox.js'

type MessageInput = Pick<GetMessageInput, 'projectId' | 'agent' | 'messageId'>

export type CancelMessageError = GetMessageError | { readonly kind: 'message_final' }

/**
 * Ends an open message. Waiting callers are answered at once, its run is aborted and its answer
 * refused, and webhooks get `agent.error` with the code CANCELLED. A repeated call returns the
 * same.
 */
export const cancelMessage =
  (d: MessagesContext) =>
  (input: MessageInput): ResultAsync<Message, CancelMessageError> =>
    safeTry(async function* () {
      const message = yield* getMessage(d)(input)
      const { id: messageId, projectId, agentId, trace } = message
      const { state, event } = decideCancellation(message, d.clock.now())
      const outgoing = outgoingOf(d, event, projectId, trace)
      const cancelled = yield* d.storage.messages.cancel({
        projectId,
        agentId,
        messageId,
        state,
        outgoing,
      })
      if (!cancelled) return fail('message_not_found')
      if (cancelled.kind === 'already_final') {
        return cancelled.message.state.kind === 'cancelled'
          ? ok(cancelled.message)
          : fail('message_final')
      }
      d.telemetry.record({ name: 'message.cancelled', messageId, agentId })
      d.signal.notify(cancelled.message)
      d.deliverySender.take(cancelled.deliveries, outgoing.claim)
      if (cancelled.sessionWaits) d.dispatcher.wake(agentId)
      return ok(cancelled.message)
    })

export type RetryMessageError =
  | GetMessageError
  | NotRunning
  | { readonly kind: 'message_not_retryable' | 'session_full' }

/**
 * Puts a failed or cancelled message at the end of its session's queue, with its attempts at 0.
 * The agent must run and the session must have room, as for a new message. The message keeps its
 * id, its principal and its idempotency key.
 */
export const retryMessage =
  (d: MessagesContext) =>
  (input: MessageInput): ResultAsync<Message, RetryMessageError> =>
    safeTry(async function* () {
      const { id: messageId, projectId, agentId } = yield* getMessage(d)(input)
      const retried = yield* d.storage.messages.retry({
        projectId,
        agentId,
        messageId,
        now: d.clock.now(),
      })
      if (!retried) return fail('message_not_found')
      if (retried.kind === 'not_retryable') return fail('message_not_retryable')
      if (retried.kind === 'session_full') return fail('session_full')
      if (retried.kind === 'agent_not_running') {
        const agent = yield* d.storage.agents.get(projectId, agentId)
        return agent ? err(notRunning(agent, d.clock.now())) : fail('agent_not_found')
      }
      d.telemetry.record({ name: 'message.retried', messageId, agentId })
      d.dispatcher.wake(agentId)
      return ok(retried.message)
    })
