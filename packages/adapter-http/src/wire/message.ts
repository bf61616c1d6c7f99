import { errorOf, statusOf, toIso, type Message } from '@org/agent-messaging-core'

/** The bodies of S§4.1: these fields and no others. */
export const sentBody = ({ id: messageId, state }: Message) =>
  state.kind === 'responded'
    ? { messageId, status: 'responded' as const, response: state.response }
    : { messageId, status: 'pending' as const }

export const messageBody = (message: Message) => ({
  messageId: message.id,
  agentId: message.agentId,
  sessionId: message.sessionId,
  status: statusOf(message.state),
  state: message.state.kind,
  message: message.message,
  ...(message.metadata && { metadata: message.metadata }),
  executionPrincipal: message.executionPrincipal,
  ...outcomeOf(message),
  attempt: message.attempt,
  createdAt: toIso(message.createdAt),
})

function outcomeOf({ state }: Message) {
  const error = errorOf(state)
  if (error) return { error }
  if (state.kind !== 'responded') return {}
  return { response: state.response, responseTimeMs: state.responseTimeMs, respondedAt: toIso(state.respondedAt) }
}
