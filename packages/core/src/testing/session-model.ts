import type { Instant } from '../domain/instant.js'
import type { MessageStateKind } from '../domain/message.js'
import type { Held } from '../ports/message-store.js'

/** `token` is that of the newest claim: what a result must show. */
export type ModelMessage = {
  readonly id: string
  readonly sessionId: string
  readonly endUserId?: string | undefined
  kind: MessageStateKind
  attempt: number
  token: number
}
/** `all` by their places; `open` is the queue, head first. `dueAt`: when its head may be claimed. */
export type ModelSession = {
  readonly all: ModelMessage[]
  readonly open: ModelMessage[]
  dueAt: Instant
}

/** All that is promised about the messages of one agent, as simply as it can be said. Each method gives what the store has to answer. */
export function createSessionModel(maxQueued: number) {
  const sessions = new Map<string, ModelSession>()
  const messages = new Map<string, ModelMessage>()
  const keys = new Map<string, string>()
  const sessionOf = ({ sessionId }: Pick<ModelMessage, 'sessionId'>): ModelSession =>
    sessions.get(sessionId) ?? { all: [], open: [], dueAt: 0 }
  const holder = ({ messageId, token }: Held): ModelMessage | undefined => {
    const message = messages.get(messageId)
    return message?.token === token && (message.kind === 'running' || message.kind === 'deferred')
      ? message
      : undefined
  }

  function enqueue(message: ModelMessage, now: Instant): void {
    const session = sessionOf(message)
    if (session.open.push(message) === 1) session.dueAt = now
    session.all.push(message)
    sessions.set(message.sessionId, session)
  }
  function end(message: ModelMessage, kind: MessageStateKind, now: Instant): void {
    const session = sessionOf(message)
    if (session.open[0] === message) session.dueAt = now
    remove(session.open, message)
    message.kind = kind
  }

  function forgetKeys(): void {
    for (const [key, id] of keys) if (!messages.has(id)) keys.delete(key)
  }

  return {
    ...{ sessions, messages },
    due: (now: Instant) =>
      [...sessions.values()].flatMap(({ open, dueAt }) =>
        open[0] && dueAt <= now ? [open[0]] : [],
      ),
    accept(
      { id, sessionId, endUserId }: Pick<ModelMessage, 'id' | 'sessionId' | 'endUserId'>,
      key: string,
      now: Instant,
      claims: boolean,
    ) {
      const existing = keys.get(key)
      if (existing !== undefined) return 'existing'
      const { open } = sessionOf({ sessionId })
      if (open.length > maxQueued) return 'session_full'
      const isClaimed = claims && open.length === 0
      const message: ModelMessage = {
        id,
        sessionId,
        endUserId,
        kind: 'queued',
        attempt: 0,
        token: 0,
      }
      messages.set(id, message)
      keys.set(key, id)
      enqueue(message, now)
      return isClaimed ? 'claimed' : 'created'
    },
    claim(message: ModelMessage, token: number, until: Instant): void {
      Object.assign(message, { kind: 'running', attempt: message.attempt + 1, token })
      sessionOf(message).dueAt = until
    },
    /** `until`: when another may claim it, if it is not final then. */
    finish(held: Held, kind: MessageStateKind, now: Instant, until: Instant): boolean {
      const message = holder(held)
      if (!message || (kind === 'running' && message.kind !== kind)) return false
      if (kind === 'responded' || kind === 'failed') end(message, kind, now)
      else Object.assign(sessionOf(Object.assign(message, { kind })), { dueAt: until })
      return true
    },
    cancel(message: ModelMessage, now: Instant) {
      if (!sessionOf(message).open.includes(message)) return 'already_final'
      end(message, 'cancelled', now)
      return 'cancelled'
    },
    retry(message: ModelMessage, now: Instant) {
      if (message.kind !== 'failed' && message.kind !== 'cancelled') return 'not_retryable'
      const { open, all } = sessionOf(message)
      if (open.length > maxQueued) return 'session_full'
      remove(all, message)
      enqueue(Object.assign(message, { kind: 'queued', attempt: 0 }), now)
      return 'retried'
    },
    erase(sessionId: string, force: boolean) {
      const session = sessions.get(sessionId)
      if (!session) return undefined
      if (session.open.length > 0 && !force) return 'busy'
      for (const { id } of session.all) messages.delete(id)
      forgetKeys()
      sessions.delete(sessionId)
      return 'erased'
    },
    erasePrincipal(endUserId: string, force: boolean, now: Instant) {
      const theirs = [...messages.values()].filter((message) => message.endUserId === endUserId)
      const erased = theirs.filter((message) => force || !sessionOf(message).open.includes(message))
      for (const message of erased) {
        const session = sessionOf(message)
        if (session.open.includes(message)) end(message, 'cancelled', now)
        remove(session.all, message)
        messages.delete(message.id)
        if (session.all.length === 0) sessions.delete(message.sessionId)
      }
      forgetKeys()
      return { messages: erased.length, openMessages: theirs.length - erased.length }
    },
  }
}
export type SessionModel = ReturnType<typeof createSessionModel>

const remove = <T>(from: T[], one: T): void => void from.splice(from.indexOf(one), 1)
