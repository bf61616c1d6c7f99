import type { Instant, Message } from '@org/agent-messaging-core'
import {
  allowedAttempts,
  claimedAttempt,
  interruptedRun,
  isExhausted,
  type ClaimedMessage,
} from '@org/agent-messaging-core/storage'
import type { Memory, MessageRow, Session } from './memory.js'
import { leaveRetried } from './memory-delivery-rows.js'
import { deleteHooks } from './memory-outbox.js'

type SessionRef = { readonly agentId: string; readonly sessionId: string }

/** Finds or creates the session. A new session is idle. */
export function sessionOf(memory: Memory, ref: SessionRef): Session {
  const session = memory.sessions.get(keyOf(ref)) ?? {
    agentId: ref.agentId,
    sessionId: ref.sessionId,
    all: [],
    open: [],
    dueAt: 0,
  }
  memory.sessions.set(keyOf(ref), session)
  return session
}

export const findSession = (memory: Memory, ref: SessionRef): Session | undefined =>
  memory.sessions.get(keyOf(ref))

const keyOf = ({ agentId, sessionId }: SessionRef): string => `${agentId} ${sessionId}`

/** Adds a message to the queue. A message in an idle session is due now. */
export function append(session: Session, row: MessageRow, now: Instant): void {
  session.all.push(row)
  session.open.push(row)
  if (session.open.length === 1) session.dueAt = now
}

/** Removes a final message from the queue. If the message was the head, the next one is due now. */
export function removeOpen(session: Session, row: MessageRow, now: Instant): void {
  if (session.open[0] === row) session.dueAt = now
  session.open.splice(session.open.indexOf(row), 1)
}

/** Deletes a session with its messages and their keys. A run of the session loses its lease. */
export function removeSession(memory: Memory, session: Session): void {
  for (const { message } of session.all) deleteMessage(memory, message)
  for (const [key, { message }] of memory.idempotencyKeys)
    if (!memory.messages.has(message.id)) memory.idempotencyKeys.delete(key)
  memory.sessions.delete(keyOf(session))
}

/** Deletes a message with its key, and the state of its session, which can quote the message. */
export function eraseMessage(memory: Memory, row: MessageRow, now: Instant): void {
  const session = sessionOf(memory, row.message)
  if (session.open.includes(row)) removeOpen(session, row, now)
  delete session.state
  removeFinal(memory, row)
}

/** Deletes a message with its key. Deletes the session with its last message. */
export function removeFinal(memory: Memory, row: MessageRow): void {
  const session = sessionOf(memory, row.message)
  session.all.splice(session.all.indexOf(row), 1)
  deleteMessage(memory, row.message)
  for (const [key, other] of memory.idempotencyKeys)
    if (other === row) memory.idempotencyKeys.delete(key)
  if (session.all.length === 0) memory.sessions.delete(keyOf(session))
}

function deleteMessage(memory: Memory, { id }: Message): void {
  const row = memory.messages.get(id)
  if (row) leaveRetried(memory, row)
  memory.messages.delete(id)
  deleteHooks(memory, ({ hook }) => hook.messageId === id)
}

/** Returns the agent's sessions whose head can be claimed, the longest due first. */
export function dueSessions(
  memory: Memory,
  agentId: string,
  now: Instant,
): { session: Session; head: MessageRow }[] {
  const heads = [...memory.sessions.values()].flatMap((session) => {
    const [head] = session.open
    return head && session.agentId === agentId && session.dueAt <= now ? [{ session, head }] : []
  })
  return heads.sort((a, b) => a.session.dueAt - b.session.dueAt)
}

/** Claims the head for one more attempt, under a new token, which supersedes older tokens. */
export function claimHead(
  memory: Memory,
  session: Session,
  head: MessageRow,
  now: Instant,
  until: Instant,
): ClaimedMessage {
  const { kind } = head.message.state
  const lost = kind === 'running' || kind === 'deferred' ? kind : undefined
  const { maxAttempts = Infinity } = memory.agents.get(session.agentId) ?? {}
  const allowed = allowedAttempts(maxAttempts, head.message)
  const hasNoneLeft = isExhausted(head.message.attempt, allowed)
  const lostRun = interruptedRun(head.message, now)
  if (lostRun && !hasNoneLeft) head.pastRuns.push(lostRun)
  const message = {
    ...head.message,
    attempt: claimedAttempt(head.message.attempt, allowed),
    state: { kind: 'running', startedAt: now },
  } as const
  head.message = message
  head.token = ++memory.lastToken
  session.dueAt = until
  const { state: sessionState } = session
  return {
    message,
    lease: { token: head.token, until },
    ...(lost && { lost }),
    ...(hasNoneLeft && { isExhausted: true, lostRun }),
    ...(sessionState !== undefined && { sessionState }),
  }
}
