import type { PortResult } from '../../ports/port-result.js'
import { isStorableText } from '../../domain/values/json.js'
import type { Message } from '../../domain/messages/message.js'
import { inputFacts, type AnsweredInput } from '../../domain/messages/message-input.js'
import type { TraceContext } from '../../domain/messages/trace.js'
import type { Platform } from '../../platform.js'
import type { RunRequest } from '../../ports/agent-runtime.js'
import type { ClaimedMessage, HeldRun } from '../../ports/message-store.js'
import type { Unavailable } from '../../ports/stored.js'
import { runTokenOf } from './run-token.js'

export function runRequest(
  platform: Pick<Platform, 'crypto' | 'policy' | 'storage'>,
  { message, lease, sessionState }: ClaimedMessage,
  emit: RunRequest['emit'],
  trace: TraceContext | undefined,
): RunRequest {
  const { id: messageId, metadata } = message
  const { crypto } = platform
  const inputs = answeredInputs(message)
  return {
    messageId,
    agentId: message.agentId,
    sessionId: message.sessionId,
    message: message.message,
    ...(message.inputParts && { parts: message.inputParts }),
    ...(message.responseSchema && { responseSchema: message.responseSchema }),
    executionPrincipal: message.executionPrincipal,
    attempt: message.attempt,
    emit,
    runToken: runTokenOf(crypto, messageId, lease.token),
    ...(metadata && { metadata }),
    ...(inputs.length > 0 && { inputs }),
    ...(trace && { trace }),
    ...(sessionState !== undefined && { sessionState }),
    ...sessionMemory(platform, { messageId, token: lease.token }),
  }
}

/** Returns the answered questions of the message. */
const answeredInputs = ({ inputs = [] }: Message): AnsweredInput[] =>
  inputs.flatMap((input) => {
    if (!input.answer) return []
    const { value, executionPrincipal } = input.answer
    return { ...inputFacts(input), value, ...(executionPrincipal && { executionPrincipal }) }
  })

/** How a run reads its session's past turns and keeps a state for the session's next run. */
function sessionMemory(
  { storage: { messages }, policy }: Pick<Platform, 'policy' | 'storage'>,
  held: HeldRun,
): Pick<RunRequest, 'history' | 'remember'> {
  return {
    history: async (limit) =>
      valueOf(await messages.history({ messageId: held.messageId, ...limit })),
    remember: async (sessionState) => {
      const problem = stateProblem(sessionState, policy.limits.sessionStateLength)
      if (problem !== undefined) throw new Error(`the session state ${problem}`)
      const kept = valueOf(await messages.rememberSession({ ...held, sessionState }))
      if (kept === 'lease_lost') throw new Error('the run has lost its lease')
    },
  }
}

/** Runtimes expect rejections instead of Results. `retryable`: the run can be tried again. */
function valueOf<T>(result: PortResult<T, Unavailable>): T {
  if (result.ok) return result.value
  const message = `the storage is unavailable: ${result.error.reason}`
  throw Object.assign(new Error(message), { retryable: true })
}

function stateProblem(state: unknown, maxLength: number): string | undefined {
  if (typeof state !== 'string') return 'must be a string'
  if (state.length > maxLength) return `must have at most ${maxLength} characters`
  return isStorableText(state) ? undefined : 'must not contain NUL or lone surrogates'
}
