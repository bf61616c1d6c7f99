import type { Instant } from '../domain/instant.js'
import type { ClaimedMessage } from '../ports/message-store.js'
import type { Memory, MessageRow, Session } from './memory.js'

type SessionRef = { readonly agentId: string; readonly sessionId: string }

/** The session's queue; a new one is idle. */
export function sessionOf(memory: Memory, { agentId, sessionId }: SessionRef): Session {
  const key = `${agentId} ${sessionId}`
  const session = memory.sessions.get(key) ?? { all: [], open: [], dueAt: 0 }
  memory.sessions.set(key, session)
  return session
}

/** Only a message that comes into an idle session makes it due: behind others it waits, whatever they wait for. */
export function append(session: Session, row: MessageRow, now: Instant): void {
  session.all.push(row)
  session.open.push(row)
  if (session.open.length === 1) session.dueAt = now
}

/** The head is final: the session is free for the next one, from now on. */
export function removeHead(session: Session, now: Instant): void {
  session.open.shift()
  session.dueAt = now
}

/** Sessions of the agent whose head may be claimed, the longest due first. */
export function dueSessions(memory: Memory, agentId: string, now: Instant): { session: Session; head: MessageRow }[] {
  const heads = [...memory.sessions.values()].flatMap((session) => {
    const [head] = session.open
    return head?.message.agentId === agentId && session.dueAt <= now ? [{ session, head }] : []
  })
  return heads.sort((a, b) => a.session.dueAt - b.session.dueAt)
}

/** One more attempt, under a new token, which supersedes the older ones. */
export function claimHead(memory: Memory, session: Session, head: MessageRow, now: Instant, until: Instant): ClaimedMessage {
  const { kind } = head.message.state
  const lost = kind === 'running' || kind === 'deferred' ? kind : undefined
  const message = { ...head.message, attempt: head.message.attempt + 1, state: { kind: 'running', startedAt: now } } as const
  head.message = message
  head.token = ++memory.lastToken
  session.dueAt = until
  const { state: sessionState } = session
  return { message, lease: { token: head.token, until }, ...(lost && { lost }), ...(sessionState !== undefined && { sessionState }) }
}
