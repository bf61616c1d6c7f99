import type { Instant } from '../domain/instant.js'
import { isFinal, isRetryable, type MessageState } from '../domain/message.js'
import { isEndUser } from '../domain/principal.js'
import type { Held, MessageRef, MessageStore, NewMessage } from '../ports/message-store.js'
import { countMessages } from './memory-activity.js'
import { ofProject, type Immediate, type Memory, type MessageRow } from './memory.js'
import { history, listMessages, listSessions } from './memory-conversations.js'
import { publish } from './memory-outbox.js'
import {
  append,
  claimHead,
  dueSessions,
  eraseMessage,
  findSession,
  removeFinal,
  removeOpen,
  removeSession,
  sessionOf,
} from './memory-sessions.js'

export const memoryMessages = (memory: Memory): Immediate<MessageStore> => ({
  accept(message) {
    const existing = findByKey(memory, message) ?? memory.messages.get(message.id)
    if (existing) return { kind: 'existing', message: existing.message }
    const agent = ofProject(memory.agents.get(message.agentId), message.projectId)
    if (!agent) return { kind: 'agent_not_found' }
    if (agent.state.kind !== 'running') return { kind: 'agent_not_running' }
    const session = sessionOf(memory, message)
    if (session.open.length > agent.maxQueued) return { kind: 'session_full' }

    const row = insert(memory, message)
    append(session, row, message.now)
    const { now, claimUntil } = message
    if (claimUntil === undefined || session.open[0] !== row)
      return { kind: 'created', message: row.message }
    return { kind: 'claimed', claimed: claimHead(memory, session, row, now, claimUntil) }
  },

  claimRunnable({ lanes, now, until }) {
    return lanes.flatMap(({ agentId, free }) =>
      dueSessions(memory, agentId, now)
        .slice(0, free)
        .map(({ session, head }) => claimHead(memory, session, head, now, until)),
    )
  },

  extendLeases(held, until) {
    return held.filter((claim) => !extend(memory, claim, until)).map(({ messageId }) => messageId)
  },

  defer(deferral) {
    const row = findHeld(memory, deferral)
    if (!row) return 'lease_lost'
    row.message = { ...row.message, state: deferral.state }
    sessionOf(memory, row.message).dueAt = deferral.state.deadlineAt
    return 'deferred'
  },

  recordRun({ state, now, outgoing, ...held }) {
    const row = findHeld(memory, held)
    if (!row) return { kind: 'lease_lost' }
    row.message = { ...row.message, state }
    const session = sessionOf(memory, row.message)
    if (state.kind === 'queued') session.dueAt = state.notBefore
    else removeOpen(session, row, now)
    const deliveries = outgoing ? publish(memory, outgoing) : []
    return {
      kind: 'recorded',
      message: row.message,
      deliveries,
      sessionWaits: session.open.length > 0,
    }
  },

  cancel({ state, outgoing, ...ref }) {
    const row = find(memory, ref)
    if (!row) return undefined
    if (isFinal(row.message.state)) return { kind: 'already_final', message: row.message }
    row.message = { ...row.message, state }
    const session = sessionOf(memory, row.message)
    removeOpen(session, row, state.cancelledAt)
    return {
      kind: 'cancelled',
      message: row.message,
      deliveries: publish(memory, outgoing),
      sessionWaits: session.open.length > 0,
    }
  },

  retry({ now, ...ref }) {
    const row = find(memory, ref)
    if (!row) return undefined
    if (!isRetryable(row.message.state)) return { kind: 'not_retryable' }
    const agent = memory.agents.get(ref.agentId)
    if (agent?.state.kind !== 'running') return { kind: 'agent_not_running' }
    const session = sessionOf(memory, row.message)
    if (session.open.length > agent.maxQueued) return { kind: 'session_full' }
    row.message = { ...row.message, attempt: 0, state: { kind: 'queued', notBefore: now } }
    session.all.splice(session.all.indexOf(row), 1)
    append(session, row, now)
    return { kind: 'retried', message: row.message }
  },

  rememberSession({ sessionState, ...held }) {
    const row = findHeld(memory, held)
    if (!row) return 'lease_lost'
    sessionOf(memory, row.message).state = sessionState
    return 'remembered'
  },

  get: (ref) => find(memory, ref)?.message,
  getHeld: (messageId) => memory.messages.get(messageId),

  findFinal(messageIds) {
    const found = messageIds.flatMap((id) => memory.messages.get(id)?.message ?? [])
    return found.filter(({ state }) => isFinal(state))
  },

  find: (messageIds) => messageIds.flatMap((id) => memory.messages.get(id)?.message ?? []),

  list: (filter, page) => listMessages(memory, filter, page),
  listSessions: (agent, page) => listSessions(memory, agent, page),
  history: (query) => history(memory, query),

  erase({ force, projectId, ...ref }) {
    const session = ofProject(memory.agents.get(ref.agentId), projectId) && findSession(memory, ref)
    if (!session) return undefined
    if (session.open.length > 0 && !force) return 'busy'
    removeSession(memory, session)
    return 'erased'
  },

  erasePrincipal({ projectId, agentId, endUserId, force, countOnly, now }) {
    const agents = [...memory.messages.values()].filter(
      ({ message }) => message.projectId === projectId && message.agentId === agentId,
    )
    const theirs = agents.filter(({ message }) => isEndUser(message.executionPrincipal, endUserId))
    const erased = force ? theirs : theirs.filter(({ message }) => isFinal(message.state))
    if (!countOnly) for (const row of erased) eraseMessage(memory, row, now)
    return { messages: erased.length, openMessages: theirs.length - erased.length }
  },

  /** Nothing is left behind here. */
  sweep: () => 0,

  purge({ finishedBefore, limit }) {
    const rows = [...memory.messages.values()].filter(
      ({ message }) => finishedAt(message.state) < finishedBefore,
    )
    const purged = rows
      .sort((a, b) => finishedAt(a.message.state) - finishedAt(b.message.state))
      .slice(0, limit)
    for (const row of purged) removeFinal(memory, row)
    return purged.length
  },

  activity: (query) => countMessages(memory, query),

  backlog(now) {
    const count = (kind: MessageState['kind']): number =>
      [...memory.messages.values()].filter(({ message }) => message.state.kind === kind).length
    const running = [...memory.agents.values()].filter(({ state }) => state.kind === 'running')
    const due = running
      .flatMap(({ id }) => dueSessions(memory, id, now))
      .filter(({ head }) => head.message.state.kind === 'queued')
    return {
      ...{ queued: count('queued'), running: count('running'), deferred: count('deferred') },
      ...(due.length > 0 && { oldestDueAt: Math.min(...due.map(({ session }) => session.dueAt)) }),
    }
  },
})

/** An open one has not finished, and never will have by any time. */
function finishedAt(state: MessageState): Instant {
  if (state.kind === 'responded') return state.respondedAt
  if (state.kind === 'cancelled') return state.cancelledAt
  return state.kind === 'failed' ? state.failedAt : Infinity
}

const keyOf = ({ projectId, agentId }: NewMessage, idempotencyKey: string): string =>
  `${projectId} ${agentId} ${idempotencyKey}`

const findByKey = (memory: Memory, message: NewMessage): MessageRow | undefined =>
  message.idempotencyKey === undefined
    ? undefined
    : memory.idempotencyKeys.get(keyOf(message, message.idempotencyKey))

function insert(memory: Memory, accepted: NewMessage): MessageRow {
  const { idempotencyKey, now, claimUntil: _, ...facts } = accepted
  const row: MessageRow = {
    message: { ...facts, attempt: 0, state: { kind: 'queued', notBefore: now }, createdAt: now },
    token: 0,
  }
  memory.messages.set(accepted.id, row)
  if (idempotencyKey !== undefined) memory.idempotencyKeys.set(keyOf(accepted, idempotencyKey), row)
  return row
}

function find(
  memory: Memory,
  { projectId, agentId, messageId }: MessageRef,
): MessageRow | undefined {
  const row = memory.messages.get(messageId)
  return row?.message.projectId === projectId && row.message.agentId === agentId ? row : undefined
}

/** The message that this token still has the right to: under a lease, or deferred. Time plays no part. */
function findHeld(memory: Memory, { messageId, token }: Held): MessageRow | undefined {
  const row = memory.messages.get(messageId)
  return row?.token === token && isHeld(row.message.state) ? row : undefined
}

const isHeld = ({ kind }: MessageState): boolean => kind === 'running' || kind === 'deferred'

function extend(memory: Memory, claim: Held, until: number): boolean {
  const row = findHeld(memory, claim)
  if (row?.message.state.kind !== 'running') return false
  sessionOf(memory, row.message).dueAt = until
  return true
}
