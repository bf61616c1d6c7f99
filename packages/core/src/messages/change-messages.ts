import { err, ok, safeTry, type ResultAsync } from 'neverthrow'
import type { ByAccess } from '../domain/access/access.js'
import { auditEntry, type AuditEntry, type ByActor } from '../domain/access/audit.js'
import { fail } from '../domain/values/fail.js'
import { broken } from '../domain/values/input-rules.js'
import type { JsonObject } from '../domain/values/json.js'
import { countOfEnd } from '../domain/operations/counts.js'
import { decideCancellation, type Message } from '../domain/messages/message.js'
import type { Cancelled } from '../ports/message-store.js'
import type { Unavailable } from '../ports/stored.js'
import type { Needs } from './context.js'
import type { Changing } from '../platform.js'
import { notRunning, type NotRunning } from '../domain/agents/agent.js'
import { metadataRule } from '../domain/messages/metadata-rule.js'
import {
  getMessage,
  type GetMessageError,
  type MessageReads,
  type MessageRef,
} from './read-messages.js'
import { outgoingOf } from '../webhooks/outbox.js'
import { rulesOf } from '../domain/values/setting.js'
import { retrySettings, type RetrySettings } from '../domain/webhooks/recovery.js'
import { createRecovery } from '../webhooks/recoveries.js'
import { chain, existing } from '../pacing/chain.js'

type MessageInput = MessageRef & ByAccess

export type CancelMessageError = GetMessageError | { readonly kind: 'message_final' }

export const cancelMessage =
  (d: MessageReads & CancelContext) =>
  ({ actor, ...input }: MessageInput & ByActor) =>
    safeTry(async function* () {
      const message = yield* getMessage(d)(input)
      const cancelled = yield* cancelFound(
        d,
        message,
        messageEntry(d, message, { action: 'message.cancelled', actor }),
      )
      if (!cancelled) return fail('message_not_found')
      if (cancelled.kind === 'cancelled' || cancelled.message.state.kind === 'cancelled')
        return ok(cancelled.message)
      return fail('message_final')
    })

/** The ports and parts that end a message, and tell all who wait for that. */
export type CancelContext = Changing &
  Needs<'eventNews' | 'signal' | 'telemetry' | 'deliverySender' | 'dispatcher'>

const messageEntry = (
  d: Changing,
  { id, projectId }: Message,
  change: Pick<AuditEntry, 'action'> & ByActor,
): AuditEntry => auditEntry(d, { projectId, targetId: id, ...change })

/** Cancels a message that was read before. */
export const cancelFound = (
  d: CancelContext,
  message: Message,
  audit: AuditEntry | undefined,
): ResultAsync<Cancelled | undefined, Unavailable> => {
  const { id: messageId, projectId, agentId, trace } = message
  const { state, events } = decideCancellation(message, d.clock.now())
  const outgoing = outgoingOf(d, events, projectId, trace)
  return chain(
    d.storage.messages.cancel({
      ...{ projectId, agentId, messageId, state, outgoing },
      count: countOfEnd(message, state, state.cancelledAt),
      audit,
    }),
  ).map((cancelled) => {
    if (cancelled?.kind !== 'cancelled') return cancelled
    d.telemetry.record({ name: 'message.cancelled', messageId, agentId })
    d.signal.notify(cancelled.message)
    d.eventNews.committed(projectId)
    d.deliverySender.take(cancelled, outgoing.claim)
    if (cancelled.sessionWaits) d.dispatcher.wake(agentId)
    return cancelled
  })
}

export type RetryMessageError =
  | GetMessageError
  | NotRunning
  | { readonly kind: 'message_not_retryable' | 'session_full' }

export const retryMessage =
  (d: MessageReads & Needs<'ids' | 'telemetry' | 'dispatcher'>) =>
  ({ actor, ...input }: MessageInput & ByActor) =>
    safeTry(async function* () {
      const message = yield* getMessage(d)(input)
      const { id: messageId, projectId, agentId } = message
      const retried = yield* existing(
        d.storage.messages.retry({
          projectId,
          agentId,
          messageId,
          now: d.clock.now(),
          audit: messageEntry(d, message, { action: 'message.retried', actor }),
        }),
        'message_not_found',
      )
      if (retried.kind === 'not_retryable') return fail('message_not_retryable')
      if (retried.kind === 'session_full') return fail('session_full')
      if (retried.kind === 'agent_not_running') {
        const agent = yield* chain(d.storage.agents.get(projectId, agentId))
        return agent ? err(notRunning(agent, d.clock.now())) : fail('agent_not_found')
      }
      d.telemetry.record({ name: 'message.retried', messageId, agentId })
      d.dispatcher.wake(agentId)
      return ok(retried.message)
    })

export type RetryFailedInput = RetrySettings &
  ByActor & {
    readonly projectId: string
    /** The agent's id or name. */
    readonly agent: string
  }

/** Starts a recovery that retries an agent's failed messages. */
export const retryFailed =
  (d: Changing & Needs<'recoveryRunner'>) =>
  ({ projectId, agent: name, actor, ...given }: RetryFailedInput) =>
    safeTry(async function* () {
      const problem = broken(rulesOf(retrySettings, given))
      if (problem) return problem
      const agent = yield* existing(d.storage.agents.get(projectId, name), 'agent_not_found')
      const { errorCode, createdAfter, createdBefore } = given
      const chosen = { errorCode, createdAfter, createdBefore }
      return yield* createRecovery(d, {
        projectId,
        actor,
        filter: { status: 'failed', agentId: agent.id, ...chosen },
        tryFirst: false,
      })
    })

export type SetMetadataInput = MessageRef & {
  /** Replaces all earlier metadata. */
  readonly metadata: JsonObject
}

export const setMetadata =
  (d: MessageReads) =>
  ({ metadata, ...input }: SetMetadataInput) =>
    safeTry(async function* () {
      yield* broken({ metadata: metadataRule(metadata, d.policy.limits) }) ?? ok(undefined)
      const { id: messageId, projectId, agentId } = yield* getMessage(d)(input)
      const ref = { projectId, agentId, messageId }
      return existing(d.storage.messages.setMetadata({ ...ref, metadata }), 'message_not_found')
    })
