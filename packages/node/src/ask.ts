import {
  MessagingError,
  type ExecutionPrincipal,
  type Message,
  type MessagingService,
  type JsonObject,
} from '@org/agent-messaging-core'
import {
  given,
  type Clock,
  type Crypto,
  type Ids,
  type InputPart,
} from '@org/agent-messaging-core/runtime'
import { inputFacts, isSettled, isRefusal } from '@org/agent-messaging-core/host'
import { isFinal, openInput } from '@org/agent-messaging-core/storage'
import { invalid, taken } from './taken.js'

export type AskOptions = {
  /** Default: a new session. With an idempotency key, its name comes from the key. */
  readonly sessionId?: string | undefined
  /** On whose behalf the agent runs. Default: the agent's. */
  readonly executionPrincipal?: ExecutionPrincipal | undefined
  /** Data, and files by reference, for an agent that takes them. */
  readonly parts?: readonly InputPart[] | undefined
  /** The answer is JSON that matches this JSON Schema. */
  readonly responseSchema?: JsonObject | undefined
  /** JSON that comes back with the message and its events. */
  readonly metadata?: JsonObject | undefined
  /** Calls with one key make one message, whose answer each of them gets. */
  readonly idempotencyKey?: string | undefined
  /** How long to wait for the answer. Default: 10 minutes. The agent goes on afterwards. */
  readonly timeoutMs?: number | undefined
  /** Ends the wait, never the run. */
  readonly signal?: AbortSignal | undefined
}

const TIMEOUT_MS = 600_000

const OPTIONS = {
  sessionId: true,
  executionPrincipal: true,
  parts: true,
  responseSchema: true,
  metadata: true,
  idempotencyKey: true,
  timeoutMs: true,
  signal: true,
} as const satisfies Readonly<Record<keyof AskOptions, true>>

type Parts = {
  readonly service: MessagingService
  readonly projectId: string
  readonly platform: {
    readonly clock: Pick<Clock, 'elapsed' | 'sleep'>
    readonly crypto: Pick<Crypto, 'sha256'>
    readonly ids: Ids
  }
}

/** Sends a message and waits for its answer. Throws a `MessagingError` if there is none. */
export async function ask(
  { service, projectId, platform }: Parts,
  agent: string,
  message: string,
  asked?: AskOptions,
): Promise<string> {
  const { timeoutMs = TIMEOUT_MS, signal, ...options } = checked(asked)
  const { messages, policy } = service
  const now = () => platform.clock.elapsed()
  signal?.throwIfAborted()
  const end = now() + timeoutMs
  const { idempotencyKey: key } = options
  const sessionId = `ask-${key === undefined ? platform.ids.next() : platform.crypto.sha256(key)}`
  const abort = signal && { abort: signal }
  const sent = { sessionId, ...given(options), projectId, agent, message, ...abort }
  const accepted = messages.send({ ...sent, waitMs: timeoutMs }).catch((thrown: unknown) => {
    signal?.throwIfAborted()
    throw thrown
  })
  let { message: seen } = await accepted
  while (!isSettled(seen.state) && now() < end) {
    signal?.throwIfAborted()
    const startedAt = now()
    const waitMs = Math.min(end - startedAt, policy.syncWaitMs)
    const ref = { projectId, agent: seen.agentId, messageId: seen.id }
    const found = await messages.get({ ...ref, waitMs, ...abort }).catch(ifUnavailable)
    seen = found ?? seen
    // The service stops, or too many callers wait.
    if (found && now() - startedAt < waitMs / 2) break
    if (!found || waitMs < policy.pollMs) await platform.clock.sleep(policy.pollMs, signal)
  }
  signal?.throwIfAborted()
  return answerOf(seen)
}

/** Throws `invalid` for an option that is unknown, or that the service does not check itself. */
function checked(asked: AskOptions | undefined): AskOptions {
  const options: AskOptions = taken(asked, OPTIONS)
  const { timeoutMs = 0, signal, idempotencyKey = '' } = options
  if (typeof idempotencyKey !== 'string') throw invalid('idempotencyKey', 'must be a string')
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))
    throw invalid('timeoutMs', 'must be a number of milliseconds, 0 or more')
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalid('signal', 'must be an AbortSignal')
  return options
}

/** The message goes on while the storage is away. */
function ifUnavailable(thrown: unknown): undefined {
  if (!isRefusal(thrown) || thrown.kind !== 'unavailable') throw thrown
}

function answerOf(message: Message): string {
  const { id: messageId, state } = message
  if (state.kind === 'responded') return state.response
  if (state.kind === 'failed')
    throw new MessagingError({ kind: 'message_failed', messageId, error: state.error })
  if (isFinal(state)) throw new MessagingError({ kind: 'message_cancelled', messageId })
  const input = openInput(message)
  if (input)
    throw new MessagingError({ kind: 'input_required', messageId, input: inputFacts(input) })
  throw new MessagingError({ kind: 'no_answer_yet', messageId })
}
