import type { Instant } from '@org/agent-messaging-core'
import {
  afterJump,
  type ClockJump,
  type MessageStateKind,
  type HeldRun,
} from '@org/agent-messaging-core/storage'

export type ModelMessage = {
  readonly id: string
  readonly sessionId: string
  readonly endUserId?: string | undefined
  kind: MessageStateKind
  attempt: number
  /** The questions that its runs have asked. */
  questions: number
  /** The token of the newest claim. A result must show it. */
  token: number
}
export type ModelSession = {
  /** All messages by position. */
  readonly all: ModelMessage[]
  /** The queue of open messages, head first. */
  readonly open: ModelMessage[]
  /** When the head can be claimed. */
  dueAt: Instant
}

type Accepted = Pick<ModelMessage, 'id' | 'sessionId' | 'endUserId'>

/**
 * The simplest model of the promises about one agent's messages. Each method returns what a store
 * must answer.
 */
export class SessionModel {
  readonly sessions = new Map<string, ModelSession>()
  readonly messages = new Map<string, ModelMessage>()
  readonly #maxQueued: number
  readonly #maxAttempts: number
  /** Message ids by idempotency key. */
  readonly #keys = new Map<string, string>()

  constructor(maxQueued: number, maxAttempts: number) {
    this.#maxQueued = maxQueued
    this.#maxAttempts = maxAttempts
  }

  /** Returns the messages that can be claimed. */
  due(now: Instant): ModelMessage[] {
    return [...this.sessions.values()].flatMap(({ open, dueAt }) =>
      open[0] && dueAt <= now ? [open[0]] : [],
    )
  }

  accept(
    accepted: Accepted,
    key: string,
    now: Instant,
    claims: boolean,
  ): 'existing' | 'session_full' | 'claimed' | 'created' {
    if (this.#keys.has(key)) return 'existing'
    const { open } = this.#sessionOf(accepted)
    if (open.length > this.#maxQueued) return 'session_full'
    const isClaimed = claims && open.length === 0
    const { id, sessionId, endUserId } = accepted
    const message: ModelMessage = {
      id,
      sessionId,
      endUserId,
      kind: 'queued',
      attempt: 0,
      questions: 0,
      token: 0,
    }
    this.messages.set(id, message)
    this.#keys.set(key, id)
    this.#enqueue(message, now)
    return isClaimed ? 'claimed' : 'created'
  }

  claim(message: ModelMessage, token: number, until: Instant): void {
    message.kind = 'running'
    message.attempt = Math.min(message.attempt + 1, this.#maxAttempts + message.questions)
    message.token = token
    this.#sessionOf(message).dueAt = until
  }

  /**
   * Moves a held message to another state. Returns false if the lease is lost. A message that is
   * not final can be claimed again at `until`.
   */
  finish(
    { messageId, token }: HeldRun,
    kind: MessageStateKind,
    now: Instant,
    until: Instant,
  ): boolean {
    const message = this.messages.get(messageId)
    if (message?.token !== token) return false
    const isHeld = message.kind === 'running' || (message.kind === 'deferred' && kind !== 'running')
    if (!isHeld) return false
    if (kind === 'responded' || kind === 'failed') {
      this.#end(message, kind, now)
    } else {
      message.kind = kind
      this.#sessionOf(message).dueAt = until
    }
    return true
  }

  /** Ends the run with a question. No claim takes the message before the answer. */
  ask(held: HeldRun, now: Instant): boolean {
    const isHeld = this.finish(held, 'input_required', now, Infinity)
    const message = this.messages.get(held.messageId)
    if (isHeld && message) message.questions++
    return isHeld
  }

  /** Ends the wait for an answer: with the answer, or with a failure. */
  endWait(message: ModelMessage, kind: 'queued' | 'failed', now: Instant, until: Instant): boolean {
    if (message.kind !== 'input_required') return false
    if (kind === 'failed') this.#end(message, kind, now)
    else {
      message.kind = kind
      this.#sessionOf(message).dueAt = until
    }
    return true
  }

  cancel(message: ModelMessage, now: Instant): 'already_final' | 'cancelled' {
    if (!this.#isOpen(message)) return 'already_final'
    this.#end(message, 'cancelled', now)
    return 'cancelled'
  }

  retry(message: ModelMessage, now: Instant): 'not_retryable' | 'session_full' | 'retried' {
    if (message.kind !== 'failed' && message.kind !== 'cancelled') return 'not_retryable'
    const { open, all } = this.#sessionOf(message)
    if (open.length > this.#maxQueued) return 'session_full'
    remove(all, message)
    message.kind = 'queued'
    message.attempt = 0
    message.questions = 0
    this.#enqueue(message, now)
    return 'retried'
  }

  moveTimes(jump: ClockJump): void {
    for (const session of this.sessions.values()) session.dueAt = afterJump(session.dueAt, jump)
  }

  erase(sessionId: string): 'busy' | 'erased' | undefined {
    const session = this.sessions.get(sessionId)
    if (!session) return undefined
    if (session.open.length > 0) return 'busy'
    for (const { id } of session.all) this.messages.delete(id)
    this.#removeFreeKeys()
    this.sessions.delete(sessionId)
    return 'erased'
  }

  erasePrincipal(
    endUserId: string,
    force: boolean,
    now: Instant,
  ): { messages: number; openMessages: number } {
    const found = [...this.messages.values()].filter((message) => message.endUserId === endUserId)
    const erased = found.filter((message) => force || !this.#isOpen(message))
    for (const message of erased) {
      if (this.#isOpen(message)) this.#end(message, 'cancelled', now)
      const { all } = this.#sessionOf(message)
      remove(all, message)
      this.messages.delete(message.id)
      if (all.length === 0) this.sessions.delete(message.sessionId)
    }
    this.#removeFreeKeys()
    return { messages: erased.length, openMessages: found.length - erased.length }
  }

  #sessionOf({ sessionId }: Pick<ModelMessage, 'sessionId'>): ModelSession {
    return this.sessions.get(sessionId) ?? { all: [], open: [], dueAt: 0 }
  }

  #isOpen(message: ModelMessage): boolean {
    return this.#sessionOf(message).open.includes(message)
  }

  #enqueue(message: ModelMessage, now: Instant): void {
    const session = this.#sessionOf(message)
    if (session.open.push(message) === 1) session.dueAt = now
    session.all.push(message)
    this.sessions.set(message.sessionId, session)
  }

  #end(message: ModelMessage, kind: MessageStateKind, now: Instant): void {
    const session = this.#sessionOf(message)
    if (session.open[0] === message) session.dueAt = now
    remove(session.open, message)
    message.kind = kind
  }

  #removeFreeKeys(): void {
    for (const [key, id] of this.#keys) if (!this.messages.has(id)) this.#keys.delete(key)
  }
}

const remove = <T>(from: T[], one: T): void => void from.splice(from.indexOf(one), 1)
