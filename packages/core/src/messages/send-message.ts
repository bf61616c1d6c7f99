import { err, ok, ResultAsync, type Result } from 'neverthrow'
import { seesAgent, type AccessRestricted } from '../domain/access/access.js'
import { notRunning, type Agent, type NotRunning } from '../domain/agents/agent.js'
import { fail } from '../domain/values/fail.js'
import type { IdempotencyMismatch } from '../domain/values/idempotency.js'
import type { Invalid } from '../domain/values/input-rules.js'
import { canReturn, type Message } from '../domain/messages/message.js'
import type { PrincipalError } from '../domain/access/principal.js'
import { tokenTakes, type BucketLevel } from '../domain/access/send-limit.js'
import { tracedCommit, errorOf } from '../pacing/traced-commit.js'
import type { Platform } from '../platform.js'
import type { NewMessage, ReadEarlier, Accepted } from '../ports/message-store.js'
import { success, type PortResult } from '../ports/port-result.js'
import type { AcceptStores, HostTransaction } from '../ports/storage.js'
import type { Unavailable } from '../ports/stored.js'
import type { Needs } from './context.js'
import type { Slot } from './runs/dispatcher.js'
import {
  checkInput,
  draftMessage,
  type Draft,
  type Drafting,
  type SendInput,
} from './draft-message.js'
import { readAgent } from './earlier-reads.js'
import type { WebhookChecks } from '../webhooks/check-webhook.js'
import { checkHook, checkSendWebhook, keepHook } from './message-hooks.js'
import { sendOf } from './scoped-send.js'
import type { ActiveSpan } from '../ports/tracing.js'

/** `attached`: an earlier send with the same key stored the message. */
export type Sent = {
  readonly message: Message
  readonly attached: boolean
  /** The token buckets of the send. Absent without limits and for an attached send. */
  readonly levels?: readonly BucketLevel[] | undefined
}

export type SendError =
  | Invalid
  | PrincipalError
  | Unavailable
  | NotRunning
  | AccessRestricted
  | { readonly kind: 'agent_not_found' | 'session_not_found' }
  | { readonly kind: 'session_full' }
  | IdempotencyMismatch
  /** A token bucket of the send is empty. */
  | { readonly kind: 'rate_limited'; readonly levels: readonly BucketLevel[] }
  /** The recalled key is revoked. */
  | { readonly kind: 'unauthorized' }

export const sendMessage =
  (d: Sending) =>
  (input: SendInput): ResultAsync<Sent, SendError> =>
    new ResultAsync(send(d, input))

type Sending = WebhookChecks &
  Drafting &
  Needs<
    | 'stopping'
    | 'telemetry'
    | 'agentStarts'
    | 'dispatcher'
    | 'earlierReads'
    | 'projectLimits'
    | 'sendQueue'
    | 'waitingRoom'
  >

async function send(d: Sending, asked: SendInput): Promise<Result<Sent, SendError>> {
  const { clock, policy, stopping } = d
  const checked = checkInput(asked, policy.limits).andThen(() => sendOf(d, asked))
  if (checked.isErr()) return err(checked.error)
  const input = checked.value
  const { projectId, agent, hook, webhook, abort: caller, access } = input
  const waitMs = Math.min(input.waitMs ?? policy.syncWaitMs, policy.syncWaitMs)
  let deadline = clock.elapsed() + waitMs
  const checkedHook = hook
    ? await checkHook(d, projectId, hook)
    : webhook && (await checkSendWebhook(d, projectId, webhook))
  if (checkedHook?.isErr()) return err(checkedHook.error)

  const turn = { group: projectId, caller, bytes: () => bytesOf(input) }
  const acceptInTurn = () =>
    d.sendQueue.run(
      turn,
      () => d.earlierReads.accept(input, (agent, earlier) => accept(d, input, agent, earlier)),
      (late) => late.map((stored) => begin(d, stored)),
    )
  let accepted = await acceptInTurn()
  // The message is not stored before the agent runs.
  while (accepted.isErr() && isStarting(accepted.error) && clock.elapsed() < deadline) {
    const hasWaited = await d.agentStarts.wait({ projectId, agent, access }, deadline, caller)
    const hasTime = hasWaited && clock.elapsed() < deadline && !stopping.aborted
    // A caller whose access has ended has left, too.
    if (caller?.aborted) break
    if (!hasTime) deadline = -Infinity
    accepted = await acceptInTurn()
  }
  if (accepted.isErr()) return err(accepted.error)

  const { attached, message, levels } = accepted.value.sent
  const kept = attached && hook && (await keepHook(d, message, hook))
  if (kept && kept.isErr()) return err(kept.error)
  // Listens before the run can end.
  const answer = d.waitingRoom.wait(message, deadline, caller, access)
  begin(d, accepted.value)
  // An await would keep this frame in memory for the whole wait.
  return answer.then((seen) => ok({ attached, message: seen, levels }))
}

const isStarting = (error: SendError): boolean =>
  error.kind === 'agent_not_running' && error.state === 'starting'

const bytesOf = ({ message, parts, responseSchema, metadata, earlierTurns }: SendInput): number =>
  message.length + JSON.stringify([parts, responseSchema, metadata, earlierTurns]).length

type Acceptance = {
  readonly agent: Agent
  /** Undefined if the agent does not run here or has no free slot: then the message is queued. */
  readonly slot: Slot | undefined
  readonly accepted: Decided
  readonly sent: Sent
}

/** Drafts the message for the agent and stores it, claimed if this process can run it now. */
async function accept(
  d: Drafting & Needs<'dispatcher' | 'policy' | 'projectLimits' | 'storage' | 'telemetry'>,
  input: SendInput,
  agent: Agent,
  readEarlier: ReadEarlier,
): Promise<Result<Acceptance, SendError>> {
  if (!seesAgent(input.access, agent)) return fail('agent_not_found')
  const drafted = draftMessage(d, input, agent)
  if (drafted.isErr()) return err(drafted.error)
  const { span, born } = drafted.value
  const { quotas, runLeaseMs } = d.policy
  const { projectId, sentBy, access } = input
  const takes = quotas
    ? (await d.projectLimits.of(projectId)).map((own) =>
        tokenTakes(quotas, own, { projectId, apiKeyId: sentBy?.id, caller: access?.caller }),
      )
    : ok([])
  if (takes.isErr()) {
    span.end({ error: takes.error.kind })
    return err(takes.error)
  }
  const slot = d.dispatcher.reserve(agent.id, born.sessionId)
  const message = {
    readEarlier,
    ...(slot && { claimUntil: born.now + runLeaseMs }),
    ...(takes.value.length > 0 && { takes: takes.value }),
    ...born,
  }
  const stored = await commit(d, d.storage, { span, born: message })
  if (!stored.ok || stored.value.kind !== 'claimed') slot?.release()
  if (!stored.ok) return err(stored.error)
  const accepted = stored.value
  return sentOf(d, agent, born, accepted).map((sent) => ({ agent, slot, accepted, sent }))
}

/** Starts the run of a new message, here or at another process. */
function begin(d: Needs<'dispatcher'>, { agent, slot, accepted }: Acceptance): void {
  if (accepted.kind === 'claimed') slot?.run(accepted.claimed)
  if (accepted.kind === 'created') d.dispatcher.wake(agent.id)
}

export type EnqueueInput = Omit<SendInput, 'waitMs' | 'abort' | 'sentBy' | 'hook' | 'access'> & {
  /** Such as `inTransaction` of the PostgreSQL adapter returns. */
  readonly transaction: HostTransaction
}

type Enqueuing = WebhookChecks & Drafting & Needs<'policy' | 'telemetry' | 'dispatcher'>

export const enqueueMessage =
  (d: Enqueuing) =>
  ({ transaction, ...input }: EnqueueInput): ResultAsync<Sent, SendError> =>
    new ResultAsync(enqueue(d, input, transaction))

async function enqueue(
  d: Enqueuing,
  input: SendInput,
  stores: HostTransaction,
): Promise<Result<Sent, SendError>> {
  const checked = checkInput(input, d.policy.limits)
  if (checked.isErr()) return err(checked.error)
  const { projectId, webhook } = input
  const checkedHook = webhook && (await checkSendWebhook(d, projectId, webhook))
  if (checkedHook?.isErr()) return err(checkedHook.error)
  const agent = await readAgent(stores, input)
  if (agent.isErr()) return err(agent.error)
  const drafted = draftMessage(d, input, agent.value)
  if (drafted.isErr()) return err(drafted.error)
  const stored = await commit(d, stores, drafted.value)
  if (!stored.ok) return err(stored.error)
  if (stored.value.kind === 'created') stores.onEnd(() => d.dispatcher.wake(agent.value.id))
  return sentOf(d, agent.value, drafted.value.born, stored.value)
}

/** The store's result, without a message that the send must not get. */
async function commit(
  d: Pick<Platform, 'policy' | 'tracing'>,
  { messages }: Pick<AcceptStores, 'messages'>,
  { span, born }: Draft,
): Promise<PortResult<Decided, Unavailable | Invalid>> {
  const stored = await tracedCommit(d.tracing, span, 'accept', () => messages.accept(born))
  const isRefused =
    stored.ok &&
    stored.value.kind === 'existing' &&
    !canReturn(stored.value.message, born, d.policy.onKeyMismatch)
  const decided = isRefused ? success({ kind: 'idempotency_mismatch' } as const) : stored
  endSend(span, decided)
  return decided
}

function sentOf(
  d: Pick<Platform, 'telemetry'>,
  agent: Agent,
  born: NewMessage,
  accepted: Decided,
): Result<Sent, SendError> {
  if (accepted.kind === 'agent_not_running') return err(notRunning(agent, born.now))
  if (accepted.kind === 'key_revoked') return fail('unauthorized')
  if (accepted.kind === 'session_full' || accepted.kind === 'idempotency_mismatch')
    return fail(accepted.kind)
  if (accepted.kind === 'rate_limited') return err(accepted)
  if (accepted.kind === 'agent_not_found' || accepted.kind === 'agent_changed')
    return fail('agent_not_found')
  const message = accepted.kind === 'claimed' ? accepted.claimed.message : accepted.message
  const attached = accepted.kind === 'existing'
  d.telemetry.record({
    name: 'message.accepted',
    messageId: message.id,
    agentId: agent.id,
    agentName: agent.name,
    projectId: agent.projectId,
    attached,
  })
  const levels = accepted.kind === 'existing' ? undefined : accepted.levels
  return ok({ attached, message, levels })
}

/** The store's result, after core has looked at the message of the key. */
type Decided = Accepted | { readonly kind: 'idempotency_mismatch' }

/** A send that attached to an earlier message links to the trace of that message. */
function endSend(span: ActiveSpan, stored: PortResult<Decided, Unavailable | Invalid>): void {
  if (!stored.ok) return span.end({ error: errorOf(stored.error) })
  const accepted = stored.value
  switch (accepted.kind) {
    case 'claimed':
      return span.end({ messageId: accepted.claimed.message.id })
    case 'created':
      return span.end({ messageId: accepted.message.id })
    case 'existing':
      if (accepted.message.trace) span.link(accepted.message.trace)
      return span.end({ messageId: accepted.message.id, attached: true })
    default:
      return span.end({ error: accepted.kind })
  }
}
