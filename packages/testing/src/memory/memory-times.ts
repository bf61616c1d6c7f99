import type { Instant, Webhook } from '@org/agent-messaging-core'
import {
  afterJump,
  decideMove,
  type AgentState,
  type JumpReport,
  type MoveResult,
  type DeliveryState,
  type MessageState,
} from '@org/agent-messaging-core/storage'
import type { Memory } from './memory.js'

type Move = (at: Instant) => Instant

/** `Storage.moveTimes`. */
export function moveTimes(memory: Memory, jump: JumpReport): MoveResult {
  const { moves, ...result } = decideMove(jump, { moves: memory.moves })
  if (!moves) return result
  memory.moves = moves
  const move: Move = (at) => afterJump(at, jump)
  for (const session of memory.sessions.values()) session.dueAt = move(session.dueAt)
  for (const row of memory.messages.values())
    row.message = { ...row.message, state: movedMessage(row.message.state, move) }
  for (const row of memory.deliveries.values())
    row.delivery = { ...row.delivery, state: movedDelivery(row.delivery.state, move) }
  for (const [id, webhook] of memory.webhooks) memory.webhooks.set(id, movedWebhook(webhook, move))
  for (const [id, agent] of memory.agents)
    memory.agents.set(id, { ...agent, state: movedAgent(agent.state, move) })
  for (const [id, { owner, until }] of memory.owners)
    memory.owners.set(id, { owner, until: move(until) })
  for (const [key, listener] of memory.listeners)
    memory.listeners.set(key, { ...listener, until: move(listener.until) })
  return result
}

function movedMessage(state: MessageState, move: Move): MessageState {
  if (state.kind === 'queued') return { ...state, notBefore: move(state.notBefore) }
  if (state.kind === 'input_required')
    return { ...state, deadlineAt: move(state.deadlineAt), dueAt: move(state.dueAt) }
  return state.kind === 'deferred' ? { ...state, deadlineAt: move(state.deadlineAt) } : state
}

function movedDelivery(state: DeliveryState, move: Move): DeliveryState {
  if (state.kind !== 'pending' && state.kind !== 'sending') return state
  const resume = state.resumeAt === undefined ? {} : { resumeAt: move(state.resumeAt) }
  return state.kind === 'pending'
    ? { ...state, nextAttemptAt: move(state.nextAttemptAt), ...resume }
    : { ...state, leaseUntil: move(state.leaseUntil), ...resume }
}

function movedWebhook({ previousSecret: grace, ...webhook }: Webhook, move: Move): Webhook {
  const { circuit } = webhook.health
  const moved = circuit.kind === 'open' ? { ...circuit, until: move(circuit.until) } : circuit
  return {
    ...webhook,
    health: { ...webhook.health, circuit: moved },
    ...(grace && { previousSecret: { ...grace, until: move(grace.until) } }),
  }
}

const movedAgent = (state: AgentState, move: Move): AgentState =>
  state.kind === 'error' && state.retryAt !== undefined
    ? { ...state, retryAt: move(state.retryAt) }
    : state
