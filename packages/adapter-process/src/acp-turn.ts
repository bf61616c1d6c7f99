import {
  methods,
  type CancelNotification,
  type ContentBlock,
  type PromptRequest,
} from '@agentclientprotocol/sdk'
import {
  failedRun,
  type FinishedRun,
  type RunRequest,
  type Turn,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { collectAnswer, type Answer } from './acp-answer.js'
import type { AcpConnection } from './acp-connection.js'
import { AgentLate, isSessionUnknown, storable } from './acp-failure.js'
import type { AcpSessions } from './acp-sessions.js'

export type TurnDeps = {
  readonly connection: AcpConnection
  readonly sessions: AcpSessions
  /** UTF-16 units. */
  readonly maxAnswerLength: number
  /** What an agent that is asked to end a turn may take to do so. */
  readonly cancelGraceMs: number
}

/** The key in `_meta` under which we say what the protocol has no field for. */
const META_KEY = 'agent-messaging'

const finished = z.object({ stopReason: z.string() })

/** One prompt, from the session's opening to the end of the agent's turn. Rejects as `ask` does. */
export async function takeTurn(
  d: TurnDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<FinishedRun> {
  const { id: sessionId, past } = await d.sessions.open(run, signal)
  signal.throwIfAborted()
  const patience = cancellation(d, sessionId)
  const answer = collectAnswer({
    maxLength: d.maxAnswerLength,
    emit: (chunk) => run.emit(chunk),
    onTooLong: patience.cancel,
  })
  d.connection.turns.set(sessionId, { answer, signal: patience.cancelled })
  signal.addEventListener('abort', patience.cancel)
  try {
    const ended = await d.connection.ask(
      methods.agent.session.prompt,
      promptOf(sessionId, past, run),
      { signal: patience.over },
    )
    d.sessions.settle(sessionId)
    return concluded(finished.safeParse(ended).data?.stopReason, answer, d.maxAnswerLength)
  } catch (error) {
    if (isSessionUnknown(error)) d.sessions.forget(sessionId)
    if (!patience.over.aborted) throw error
    d.sessions.abandon(sessionId)
    return answer.isTooLong()
      ? tooLong(d.maxAnswerLength)
      : failedRun('RUNTIME_TIMEOUT', 'the agent did not end its turn when asked to')
  } finally {
    patience.end()
    signal.removeEventListener('abort', patience.cancel)
    d.connection.turns.delete(sessionId)
  }
}

/** `cancel` asks the agent to end its turn, once; `over` aborts when it has had its grace. */
function cancellation({ connection, cancelGraceMs }: TurnDeps, sessionId: string) {
  const cancelled = new AbortController()
  const over = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    cancelled: cancelled.signal,
    over: over.signal,
    cancel() {
      if (cancelled.signal.aborted) return
      cancelled.abort()
      connection.tell(methods.agent.session.cancel, { sessionId } satisfies CancelNotification)
      timer = setTimeout(
        () => over.abort(new AgentLate('the agent did not end its turn')),
        cancelGraceMs,
      )
    },
    end: () => clearTimeout(timer),
  }
}

function promptOf(sessionId: string, past: readonly Turn[], run: RunRequest): PromptRequest {
  const { messageId, agentId, message, metadata, executionPrincipal, attempt } = run
  const about = {
    messageId,
    agentId,
    sessionId: run.sessionId,
    ...(metadata && { metadata }),
    executionPrincipal,
    attempt,
  }
  return {
    sessionId,
    prompt: [...recount(past), { type: 'text', text: message }],
    _meta: { ...run.trace, [META_KEY]: about },
  }
}

/** As JSON, so that nothing anybody wrote can pass for another turn. */
function recount(past: readonly Turn[]): ContentBlock[] {
  if (past.length === 0) return []
  const turns = past.map(({ message, response }) => ({ user: message, you: response }))
  const text = `This conversation has gone on before. Its latest turns, oldest first, as JSON:\n${JSON.stringify(turns)}\nIt goes on here:`
  return [{ type: 'text', text }]
}

function concluded(stopReason: string | undefined, answer: Answer, maxLength: number): FinishedRun {
  const text = answer.text()
  if (answer.isTooLong()) return tooLong(maxLength)
  switch (stopReason) {
    case 'end_turn':
      return { kind: 'answered', response: text }
    case 'max_tokens':
    case 'max_turn_requests':
      if (text !== '') return { kind: 'answered', response: text }
      return failedRun(
        'RUNTIME_ERROR',
        `the agent came to its limit (${stopReason}) before it said anything`,
      )
    case 'refusal':
      return failedRun(
        'RUNTIME_ERROR',
        storable(text === '' ? 'the agent refused' : `the agent refused: ${text}`),
      )
    case 'cancelled':
      return failedRun('RUNTIME_ERROR', 'the agent cancelled its turn')
    default:
      return failedRun(
        'RESPONSE_INVALID',
        'the agent ended its turn for no reason that the protocol knows',
      )
  }
}

const tooLong = (maxLength: number): FinishedRun =>
  failedRun('RESPONSE_INVALID', `the agent's answer has more than ${maxLength} characters`)
