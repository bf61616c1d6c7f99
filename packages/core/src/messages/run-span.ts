import type { Agent } from '../domain/agent.js'
import type { Message } from '../domain/message.js'
import type { RunOutcome } from '../domain/run.js'
import type { Platform } from '../platform.js'
import type { ActiveSpan } from '../ports/tracing.js'
import type { AbortReason } from './run-outcome.js'

export const startRun = (
  { tracing }: Pick<Platform, 'tracing'>,
  agent: Agent,
  message: Message,
): ActiveSpan =>
  tracing.start({
    name: 'agent.run',
    parent: message.trace,
    details: {
      projectId: message.projectId,
      sessionId: message.sessionId,
      messageId: message.id,
      agentId: agent.id,
      agentName: agent.name,
      runtime: agent.runtime.kind,
      attempt: message.attempt,
    },
  })

export function endRun(
  span: ActiveSpan,
  outcome: RunOutcome | undefined,
  reason: AbortReason | undefined,
): void {
  const usage = outcome && 'usage' in outcome ? outcome.usage : undefined
  span.end({
    outcome: outcome?.kind,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    error: outcome?.kind === 'failed' ? outcome.error.code : reason,
  })
}
