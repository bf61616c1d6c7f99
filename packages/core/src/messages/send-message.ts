import { err, ok, ResultAsync, type Result } from 'neverthrow'
import { notRunning, type Agent, type NotRunning } from '../domain/agent.js'
import { fail } from '../domain/fail.js'
import type { Invalid } from '../domain/input-rules.js'
import { canReturn, type Message } from '../domain/message.js'
import type { PrincipalError } from '../domain/principal.js'
import { tokenTakes, type BucketLevel, type TokenTake } from '../domain/send-limit.js'
import type { NewMessage } from '../ports/message-store.js'
import type { AcceptStores } from '../ports/storage.js'
import type { Unavailable } from '../ports/stored.js'
import type { ActiveSpan } from '../ports/tracing.js'
import type { MessagesContext } from './context.js'
import type { Slot } from './dispatcher.js'
import type { Platform } from '../platform.js'
import type { QuotaPolicy } from '../policy.js'
import { checkHook, keepHook } from './message-hooks.js'
import { checkInput, draftMessage, type SendInput } from './draft-message.js'
import { endSend, startSend, type Decided } from './send-span.js'
import { tracedCommit } from '../pacing/traced-commit.js'

/** `attached`: an earlier send with the same key stored the message. */
export type Sent = {
  readonly message: Message
  readonly attached: boolean
  /** The token buckets of the send. Absent without limits and for an attached send. */
  readonly levels?: readonly BucketLevel[]
}

export type SendError =
  | Invalid
  | PrincipalError
  | Unavailable
  | NotRunning
  | { readonly kind: 'agent_not_found' | 'session_full' | 'idempotency_mismatch' }
  /** A token bucket of the send is empty. */
  | { readonly kind: 'rate_limited'; readonly levels: readonly BucketLevel[] }
  /** The recalled key is revoked. */
  | { readonly kind: 'unauthorized' }

/** Stores the message durably, once per key, and waits a bounded time for its answer. */
export const sendMessage =
  (d: MessagesContext) =>
  (input: SendInput): ResultAsync<Sent, SendError> => {
    const waitMs = Math.min(input.waitMs ?? d.policy.syncWaitMs, d.policy.syncWaitMs)
    return new ResultAsync(send(d, input, d.clock.elapsed() + waitMs))
  }

/**
 * Accepts the message in a transaction of the host, such as the one that writes the order which
 * the message is about. Both commit, or neither. The message is queued, and the next poll of a
 * process that runs the agent finds it. The call does not wait for the answer.
 */
export const enqueueMessage =
  (d: Platform) =>
  (
    input: Omit<SendInput, 'waitMs' | 'abort' | 'sentBy' | 'hook'>,
    transaction: AcceptStores,
  ): ResultAsync<Sent, SendError> =>
    new ResultAsync(enqueue(d, input, transaction))

async function enqueue(
  d: Platform,
  input: SendInput,
  stores: AcceptStores,
): Promise<Result<Sent, SendError>> {
  const checked = checkInput(input, d.policy.limits)
  if (checked.isErr()) return err(checked.error)
  const agent = await readAgent(stores, input)
  if (agent.isErr()) return err(agent.error)
  const span = startSend(d, input, agent.value)
  const drafted = draftMessage(d, input, agent.value, span.trace)
  if (drafted.isErr()) {
    span.end({ error: drafted.error.kind })
    return err(drafted.error)
  }
  const { value: born } = drafted
  const accepted = await commit(d, stores, born, span)
  if (accepted.isErr()) return err(accepted.error)
  return sentOf(d, agent.value, born, accepted.value)
}

/** `deadline` is in elapsed time. */
async function send(
  d: MessagesContext,
  input: SendInput,
  deadline: number,
): Promise<Result<Sent, SendError>> {
  const checked = checkInput(input, d.policy.limits)
  if (checked.isErr()) return err(checked.error)
  if (input.hook) {
    const hook = await checkHook(d, input.projectId, input.hook)
    if (hook.isErr()) return err(hook.error)
  }
  const { projectId: group, abort: caller } = input
  const bytes = (): number => bytesOf(input)
  const result = await d.sendQueue.run(
    { group, caller, bytes },
    () => accept(d, input),
    (late) => late.map((acceptance) => begin(d, acceptance)),
  )
  if (result.isErr()) return err(result.error)
  const { agent, accepted, sent } = result.value
  if (sent.isErr()) {
    const isStarting = accepted.kind === 'agent_not_running' && agent.state.kind === 'starting'
    if (isStarting && d.clock.elapsed() < deadline) return sendAfterStart(d, input, agent, deadline)
    return err(sent.error)
  }

  const { attached, message, levels } = sent.value
  if (attached && input.hook) {
    const kept = await keepHook(d, message, input.hook)
    if (kept.isErr()) return err(kept.error)
  }
  // Listens before the run can end.
  const answer = d.waitingRoom.wait(message, deadline, input.abort)
  begin(d, result.value)
  // An await would keep this frame in memory for the whole wait.
  return answer.then((seen) => ok({ attached, message: seen, ...(levels && { levels }) }))
}

/**
 * Waits for the agent's start within the caller's wait, and sends again. The message is not stored
 * before the agent runs.
 */
async function sendAfterStart(
  d: MessagesContext,
  input: SendInput,
  agent: Agent,
  deadline: number,
): Promise<Result<Sent, SendError>> {
  await d.agentStarts.wait(agent, deadline, input.abort)
  const hasTime = d.clock.elapsed() < deadline && !d.stopping.aborted && !input.abort?.aborted
  return hasTime ? send(d, input, deadline) : send(d, input, -Infinity)
}

const bytesOf = ({ message, metadata, earlierTurns }: SendInput): number =>
  message.length + JSON.stringify([metadata, earlierTurns]).length

type Acceptance = {
  readonly agent: Agent
  /** Undefined if the agent does not run here or has no free slot: then the message is queued. */
  readonly slot: Slot | undefined
  readonly accepted: Decided
  readonly sent: Result<Sent, SendError>
}

/** Starts the run of a new message, here or at another process. */
function begin(d: MessagesContext, { agent, slot, accepted }: Acceptance): void {
  if (accepted.kind === 'claimed') slot?.run(accepted.claimed)
  if (accepted.kind === 'created') d.dispatcher.wake(agent.id)
}

/**
 * Takes the agent as an earlier send read it. The store accepts the message only for that version
 * of the agent. With another version, or none, the agent is read now.
 */
async function accept(
  d: MessagesContext,
  input: SendInput,
): Promise<Result<Acceptance, SendError>> {
  const ref = `${input.projectId} ${input.agent}`
  const recent = d.recentAgents.get(ref)
  const early = recent && (await acceptFor(d, input, recent, recent.updatedAt))
  if (early && !dependsOnAgent(early)) return early
  d.recentAgents.delete(ref)
  const read = await readAgent(d.storage, input)
  if (read.isErr()) return err(read.error)
  const agent = read.value
  if (agent.state.kind === 'running') d.recentAgents.set(ref, agent)
  return acceptFor(d, input, agent, undefined)
}

/** Returns whether a later version of the agent can make another result. */
function dependsOnAgent(result: Result<Acceptance, SendError>): boolean {
  if (result.isErr()) return result.error.kind !== 'unavailable'
  return AGENT_REFUSALS.has(result.value.accepted.kind)
}

const AGENT_REFUSALS: ReadonlySet<Decided['kind']> = new Set([
  'agent_not_found',
  'agent_not_running',
  'agent_changed',
])

async function acceptFor(
  d: MessagesContext,
  input: SendInput,
  agent: Agent,
  agentUpdatedAt: number | undefined,
): Promise<Result<Acceptance, SendError>> {
  const span = startSend(d, input, agent)
  const drafted = draftMessage(d, input, agent, span.trace)
  if (drafted.isErr()) {
    span.end({ error: drafted.error.kind })
    return err(drafted.error)
  }
  const { quotas } = d.policy
  const takes = quotas ? await takesOf(d, quotas, input) : ok([])
  if (takes.isErr()) {
    span.end({ error: takes.error.kind })
    return err(takes.error)
  }
  const born = drafted.value
  const { sentBy } = input
  const slot = d.dispatcher.reserve(agent.id, born.sessionId)
  const message = {
    readEarlier: { apiKeyId: sentBy?.isRecalled ? sentBy.id : undefined, agentUpdatedAt },
    ...(slot && { claimUntil: born.now + d.policy.runLeaseMs }),
    ...(takes.value.length > 0 && { takes: takes.value }),
    ...born,
  }
  const stored = await commit(d, d.storage, message, span)
  if (stored.isErr() || stored.value.kind !== 'claimed') slot?.release()
  if (stored.isErr()) return err(stored.error)
  const accepted = stored.value
  return ok({ agent, slot, accepted, sent: sentOf(d, agent, born, accepted) })
}

/** The store's result, without a message that the send must not get. */
async function commit(
  d: Platform,
  { messages }: Pick<AcceptStores, 'messages'>,
  born: NewMessage,
  span: ActiveSpan,
): Promise<Result<Decided, Unavailable | Invalid>> {
  const stored = await tracedCommit(d.tracing, span, 'accept', () => messages.accept(born))
  const decided = stored.map((accepted): Decided => {
    const isRefused =
      accepted.kind === 'existing' && !canReturn(accepted.message, born, d.policy.onKeyMismatch)
    return isRefused ? { kind: 'idempotency_mismatch' } : accepted
  })
  endSend(span, decided)
  return decided
}

async function takesOf(
  d: MessagesContext,
  quotas: QuotaPolicy,
  { projectId, sentBy }: SendInput,
): Promise<Result<TokenTake[], Unavailable>> {
  const own = await d.projectLimits.of(projectId)
  return own.map((limits) => tokenTakes(quotas, limits, { projectId, apiKeyId: sentBy?.id }))
}

async function readAgent(
  { agents }: Pick<AcceptStores, 'agents'>,
  { projectId, agent }: SendInput,
): Promise<Result<Agent, SendError>> {
  const found = await agents.get(projectId, agent)
  if (found.isErr()) return err(found.error)
  return found.value ? ok(found.value) : fail('agent_not_found')
}

function sentOf(
  d: Platform,
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
    projectId: agent.projectId,
    attached,
  })
  const levels = accepted.kind === 'existing' ? undefined : accepted.levels
  return ok({ attached, message, ...(levels && { levels }) })
}
