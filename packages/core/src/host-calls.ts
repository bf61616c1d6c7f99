import type { Answer } from './answer.js'
import type { ApiKey } from './domain/access/api-key.js'
import type { DownloadOf } from './domain/access/audit.js'
import type { PortalSession } from './domain/access/portal.js'
import type { Message } from './domain/messages/message.js'
import type { Instant } from './domain/values/instant.js'
import type { Webhook } from './domain/webhooks/webhook.js'
import type { LimitReason, WebhookLimit } from './domain/webhooks/webhook-limit.js'
import type { AnswerInputError } from './messages/inputs.js'
import type { InputLink, LinkedInput } from './messages/answer-by-link.js'
import type { AuthenticateError, KeyText, TokenUser } from './messages/earlier-reads.js'
import type { AnswerError, AnswerInput } from './messages/runs/answer-run.js'
import type { PortalLink } from './operations/manage-portals.js'
import type { AgentRuntime } from './ports/agent-runtime.js'
import type { SignIn } from './ports/credential-store.js'
import type { RecoveryTask } from './ports/recovery-store.js'
import type { Unavailable } from './ports/stored.js'

type Failing<K extends string> = Unavailable | { readonly kind: K }

/**
 * The calls of a server in front of the service, such as the HTTP API, an endpoint or the console.
 * A program that embeds the service has its own logins, and does not need them.
 */
export interface HostCalls {
  /**
   * Returns the key's project and permissions. Unknown, mistyped, revoked and expired keys get the
   * same error. With `project`, the key must be a platform key, and the result has the id of the
   * project with that id or external id.
   */
  authenticate(input: KeyText): Answer<ApiKey, AuthenticateError>
  /**
   * Returns a key that was valid when a call of `authenticate` saw it last, without a look at the
   * storage. Another process can have revoked it. Give its id to `messages.send`, which checks that
   * in the commit, and authenticate before you answer anything else.
   */
  recall(input: KeyText): ApiKey | undefined
  /**
   * Returns the project and the access of a session token. The key that made the token must be
   * valid, as it was at most `keyCheckMs` ago. Forged and expired tokens get the same error.
   */
  authenticateToken(input: { readonly token: string }): Answer<TokenUser, AuthenticateError>
  /**
   * Returns true if the token belongs to this message, so that a forged one is refused before any
   * read. The run can still be superseded.
   */
  isRunToken(token: Pick<AnswerInput, 'messageId' | 'runToken'>): boolean
  /**
   * Stores a deferred answer, from the runtime's callback. The same answer or failure can be
   * repeated. Another one, or one of an earlier run, is refused. An invalid answer changes nothing,
   * so the runtime can send a better one.
   */
  answerRun(input: AnswerInput): Answer<Message, AnswerError>
  /** Returns the question of a one-time link, also after its answer. Changes nothing. */
  readByLink(link: InputLink): Answer<LinkedInput, Failing<'input_not_found'>>
  /** Answers the question of a one-time link, as the principal of its message. */
  answerByLink(answer: InputLink & { readonly value: unknown }): Answer<Message, AnswerInputError>
  /** Reads the portal link of a code. The link stays usable. */
  findPortalLink(input: { readonly code: string }): Answer<PortalLink, Failing<'portal_not_found'>>
  /** Opens the portal session of a link. A second call with the same code fails. */
  openPortal(input: { readonly code: string }): Answer<PortalSession, Failing<'portal_not_found'>>
  /** Returns a portal session that was opened and has not ended. */
  findOpenPortal(input: {
    readonly portalId: string
  }): Answer<PortalSession, Failing<'portal_not_found'>>
  /** Ends a person's visit to the console early, in every process. */
  endSignIn(signIn: SignIn): Answer<void, Unavailable>
  /** Returns true if the visit to the console has ended. */
  isSignInOver(signIn: SignIn): Answer<boolean, Unavailable>
  /** Does a page of a running recovery. Returns undefined if this process finds no page to do. */
  advanceRecovery(): Answer<RecoveryTask | undefined, Unavailable>
  /**
   * Checks that the storage can be read and written. A check costs a commit and needs no permission,
   * so concurrent calls share one.
   */
  ping(): Answer<void, Unavailable>
  /** Records in the audit log that the actor downloads a list. */
  recordDownload(download: DownloadOf): Answer<void, Unavailable>
  /** Returns the kinds of agents that this process knows, with their options. */
  runtimeKinds(): readonly RuntimeKind[]
  /** Returns the limit of the webhook in this process, which adapts to the receiver. */
  limitOf(webhook: Webhook): WebhookLimit
  /** Returns the work of this process. */
  load(): Load
  /** Returns the time of the clock that the service uses. */
  now(): Instant
}

/** A kind of agents. Its functions are present if the runtime has them. */
export type RuntimeKind = Pick<AgentRuntime, 'accepts' | 'kind' | 'optionsSchema'>

/** Waiting callers and readers of the event log, runs and attempts in flight, limits by reason. */
export type Load = {
  readonly waitingCallers: number
  readonly waitingReaders: number
  readonly runs: number
  readonly attempts: number
  readonly limits: Readonly<Record<LimitReason, number>>
}
