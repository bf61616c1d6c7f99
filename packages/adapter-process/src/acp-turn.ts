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
import { AcpAnswer } from './acp-answer.js'
import type { AcpConnection } from './acp-connection.js'
import { AgentTimeout, isSessionUnknown, storable } from './acp-failure.js'
import type { AcpSessions } from './acp-sessions.js'

export type TurnDeps = {
  readonly connection: AcpConnection
  readonly sessions: AcpSessions
  readonly maxAnswerLength: number
  readonly cancelGraceMs: number
}

/** The key in `_meta` for facts that the protocol has no field for. */
const META_KEY = 'agent-messaging'

const promptResponse = z.object({ stopReason: z.string() })

/** Runs one turn, from opening the session to the agent's last word. Rejects like `request`. */
export async function runTurn(
  d: TurnDeps,
  run: RunRequest,
  signal: AbortSignal,
): Promise<FinishedRun> {
  const { connection, sessions, maxAnswerLength } = d
  const { id: sessionId, history } = await sessions.open(run, signal)
  signal.throwIfAborted()
  const cancellation = cancellationOf(d, sessionId)
  const answer = new AcpAnswer({
    maxLength: maxAnswerLength,
    emit: (chunk) => run.emit(chunk),
    onRefused: cancellation.start,
  })
  connection.turns.set(sessionId, { answer, signal: cancellation.started })
  signal.addEventListener('abort', cancellation.start)
  try {
    const response = await connection.request(
      methods.agent.session.prompt,
      promptOf(sessionId, history, run),
      { signal: cancellation.expired },
    )
    sessions.turnEnded(sessionId)
    const stopReason = promptResponse.safeParse(response).data?.stopReason
    return refusedOf(answer) ?? outcomeOf(stopReason, answer.text)
  } catch (error) {
    if (isSessionUnknown(error)) sessions.forget(sessionId)
    if (!cancellation.expired.aborted) throw error
    sessions.abandon(sessionId)
    return (
      refusedOf(answer) ??
      failedRun('RUNTIME_TIMEOUT', 'the agent did not end its turn when it was cancelled')
    )
  } finally {
    cancellation.dispose()
    signal.removeEventListener('abort', cancellation.start)
    connection.turns.delete(sessionId)
  }
}

/** Asks the agent once to end a turn. `expired` aborts if the agent has not done so in time. */
function cancellationOf({ connection, cancelGraceMs }: TurnDeps, sessionId: string) {
  const started = new AbortController()
  const expired = new AbortController()
  let timer: NodeJS.Timeout | undefined
  return {
    started: started.signal,
    expired: expired.signal,
    start() {
      if (started.signal.aborted) return
      started.abort()
      const params: CancelNotification = { sessionId }
      connection.notify(methods.agent.session.cancel, params)
      const expire = () => expired.abort(new AgentTimeout('the agent did not end its turn'))
      timer = setTimeout(expire, cancelGraceMs)
    },
    dispose: () => clearTimeout(timer),
  }
}

function promptOf(sessionId: string, history: readonly Turn[], run: RunRequest): PromptRequest {
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
    prompt: [...historyBlocks(history), { type: 'text', text: message }],
    _meta: { ...run.trace, [META_KEY]: about },
  }
}

/** As JSON, so that no text in the history can pass for another turn. */
function historyBlocks(history: readonly Turn[]): ContentBlock[] {
  if (history.length === 0) return []
  const turns = history.map(({ message, response }) => ({ user: message, you: response }))
  const text = [
    'This conversation started earlier. Its latest turns as JSON, oldest first:',
    JSON.stringify(turns),
    'The conversation continues here:',
  ].join('\n')
  return [{ type: 'text', text }]
}

function outcomeOf(stopReason: string | undefined, text: string): FinishedRun {
  switch (stopReason) {
    case 'end_turn':
      return { kind: 'answered', response: text }
    case 'max_tokens':
    case 'max_turn_requests':
      return text === ''
        ? failedRun('RUNTIME_ERROR', `the agent reached its limit (${stopReason}) before any text`)
        : { kind: 'answered', response: text }
    case 'refusal': {
      const message = text === '' ? 'the agent refused' : `the agent refused: ${text}`
      return failedRun('RUNTIME_ERROR', storable(message))
    }
    case 'cancelled':
      return failedRun('RUNTIME_ERROR', 'the agent cancelled its turn')
    default:
      return failedRun('RESPONSE_INVALID', 'the agent ended its turn with an unknown stop reason')
  }
}

const refusedOf = ({ problem }: AcpAnswer): FinishedRun | undefined =>
  problem === undefined ? undefined : failedRun('RESPONSE_INVALID', problem)
