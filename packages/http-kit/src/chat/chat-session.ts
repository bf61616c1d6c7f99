import type { JsonObject, Message, Sent } from '@org/agent-messaging-core'
import { errorIn, mayCall, unless } from '@org/agent-messaging-core/host'
import { isStorableText, type InputPart } from '@org/agent-messaging-core/runtime'
import { isFinal } from '@org/agent-messaging-core/storage'
import type { KitEnv, KitContext } from '../access.js'
import { refusal, RequestRefusal } from '../errors.js'
import type { EndpointOptions } from '../options.js'
import { callerOf, hasContent, isAgentRef, principalOf, refOf, senderOf } from '../send.js'

/** The newest messages of a session that a chat shows. */
const MOST_SHOWN = 100
/** Messages that one read finds. */
const STEP = 20

export type ChatMessage = {
  /** The id that the client gave to the message, or to the request. */
  readonly id: string
  readonly message: string
  readonly parts?: readonly InputPart[] | undefined
  readonly metadata?: JsonObject | undefined
  /** On whose behalf the agent runs. Default: the principal of the agent. */
  readonly endUserId?: string | undefined
}

/** The answer to a question. */
export type ChatAnswer = {
  readonly inputId: string
  readonly value: unknown
  readonly endUserId?: string | undefined
}

type Place = { readonly agent: string; readonly sessionId: string }
type Deps = Pick<EndpointOptions, 'crypto' | 'service'>

/** A session of an agent, as the caller of a request reaches it. */
export class ChatSession {
  readonly #c: KitContext
  readonly #d: Deps
  readonly #place: Place & ReturnType<typeof callerOf<KitEnv>>

  /** The path names the agent. Throws if no agent or no session can have this name. */
  constructor(c: KitContext, d: Deps, sessionId: string) {
    const agent = c.req.param('agent') ?? ''
    if (!isAgentRef(agent)) throw new RequestRefusal({ kind: 'agent_not_found' })
    if (!isStorableText(sessionId)) throw new RequestRefusal({ kind: 'session_not_found' })
    this.#c = c
    this.#d = d
    this.#place = { agent, sessionId, ...callerOf(c) }
  }

  /** Returns the newest messages, oldest first, with the parts of their answers. */
  async messages(): Promise<readonly Message[]> {
    return (await this.#list({ limit: MOST_SHOWN, parts: true })).data.toReversed()
  }

  /** Returns the open messages, oldest first. */
  async open(): Promise<readonly Message[]> {
    const open: Message[] = []
    for (let cursor: string | undefined; ;) {
      const { data, nextCursor } = await this.#list({ limit: STEP, cursor })
      for (const message of data) {
        if (!isFinal(message.state)) open.unshift(message)
        // A session runs its messages in order, so no message before this one is open.
        else if (message.state.kind !== 'cancelled') return open
      }
      if (nextCursor === null) return open
      cursor = nextCursor
    }
  }

  /** Returns the newest message that `isWanted`, of those that a chat shows. */
  async find(isWanted: (message: Message) => boolean): Promise<Message | undefined> {
    return (await this.#list({ limit: MOST_SHOWN })).data.find(isWanted)
  }

  /**
   * Stores a message once for each id of the client. Throws if an earlier message of the session has
   * the same id and another content.
   */
  async send({ id, message, parts = [], metadata, endUserId }: ChatMessage): Promise<Sent> {
    const { agent, sessionId } = this.#place
    const sent = await this.#d.service.messages.send({
      ...senderOf(this.#c),
      agent,
      sessionId,
      message,
      parts,
      metadata,
      executionPrincipal: principalOf(endUserId),
      idempotencyKey: this.#d.crypto.sha256(JSON.stringify([sessionId, id])),
      waitMs: 0,
    })
    if (!hasContent(sent, message, parts))
      throw new RequestRefusal({ kind: 'idempotency_mismatch', issues: [REUSED] })
    return sent
  }

  /** Puts a failed or cancelled message at the end of the session. */
  retry(message: Message): Promise<Message> {
    return this.#d.service.messages.retry(this.#changeOf(message))
  }

  /** Cancels the open messages. */
  async cancel(): Promise<void> {
    // The oldest one last: its end would start the next one.
    for (const message of (await this.open()).toReversed())
      await this.#d.service.messages.cancel(this.#changeOf(message)).catch(unless('message_final'))
  }

  /** Answers a question. A repeated call with the same value returns the message. */
  async answer({ inputId, value, endUserId }: ChatAnswer): Promise<Message> {
    const change = this.#changeOf(await this.asking(inputId))
    const executionPrincipal = principalOf(endUserId)
    return this.#d.service.inputs.answer({ ...change, inputId, value, executionPrincipal })
  }

  /** Withdraws a question, so its message fails. Cancels the message if the caller cannot withdraw. */
  async withdraw(inputId: string): Promise<Message> {
    const change = this.#changeOf(await this.asking(inputId))
    const { inputs, messages } = this.#d.service
    return mayCall(this.#place.access, 'inputs.withdraw')
      ? inputs.withdraw({ ...change, inputId })
      : messages.cancel(change)
  }

  #list(page: {
    readonly limit: number
    readonly cursor?: string | undefined
    readonly parts?: true
  }) {
    return this.#d.service.messages.list({ ...this.#place, ...page })
  }

  /** Returns the message with a question. */
  async asking(inputId: string): Promise<Message> {
    const asking = await this.find(({ inputs = [] }) => inputs.some(({ id }) => id === inputId))
    if (!asking) throw new RequestRefusal({ kind: 'input_not_found' })
    return asking
  }

  #changeOf(message: Message) {
    const { access, actor } = this.#c.get('requester')
    return { ...refOf(message), access, actor }
  }
}

/** Puts the names of the request's fields into a refusal of core. */
export const refuseAs =
  (names: Readonly<Record<string, string>>) =>
  (thrown: unknown): Promise<never> => {
    const error = errorIn(thrown)
    if (!('issues' in error && error.issues)) return refusal(error)
    const issues = error.issues.map(({ path, message }) => ({
      path: path.replace(/^parts\.\d+|^[^.]+/, (name) => names[name] ?? name),
      message,
    }))
    return refusal({ ...error, issues })
  }

const REUSED = { path: 'id', message: 'was already used for a message with another content' }
