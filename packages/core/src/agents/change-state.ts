import { agentEvent, type Agent, type AgentState } from '../domain/agents/agent.js'
import type { Platform } from '../platform.js'
import type { DeliverySender } from '../webhooks/delivery-sender.js'
import { outgoingOf } from '../webhooks/outbox.js'

export type PublishingContext = Platform & { readonly deliverySender: DeliverySender }

/**
 * Stores the agent's new state with its event. Returns the agent in that state, or undefined if
 * another process was first or the storage is unavailable.
 */
export async function changeState(
  context: PublishingContext,
  agent: Agent,
  to: AgentState,
): Promise<Agent | undefined> {
  const { clock, deliverySender, eventNews, storage, telemetry } = context
  const { id: agentId, projectId } = agent
  const from = agent.state.kind
  const event = agentEvent(agent, to, clock.now())
  const outgoing = event && outgoingOf(context, [event], projectId)
  const change = { agentId, from, to, outgoing }
  const result = await storage.agents.changeState(change)
  if (!result.ok || !result.value.changed) return undefined
  if (outgoing) eventNews.committed(projectId)
  if (outgoing) deliverySender.take(result.value, outgoing.claim)
  const error = to.kind === 'error' && { error: to.lastError.code, detail: to.lastError.message }
  telemetry.record({ name: 'agent.changed', agentId, projectId, from, to: to.kind, ...error })
  return { ...agent, state: to }
}
