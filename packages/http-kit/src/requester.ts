import type { Access, Actor } from '@org/agent-messaging-core'
import type { PlatformPermission, SendingKey } from '@org/agent-messaging-core/host'
import type { HttpError } from './errors.js'

/** The caller of a request, and what the caller can do. */
export type Requester = {
  readonly projectId: string
  readonly permissions: readonly PlatformPermission[]
  /** The caller that the audit log names. */
  readonly actor: Actor
  /** What a host says about its user. Undefined: an API key. */
  readonly access?: Access | undefined
  /** Give it to the send. A recalled key is not read again. Undefined: not an API key. */
  readonly sentBy: SendingKey | undefined
  /**
   * Returns a refusal if a recalled key is not valid now. Ask before you refuse the request for
   * another reason, and before everything except a send.
   */
  readonly confirm: () => Promise<HttpError | undefined>
  /**
   * Keeps what the outcome of a send says about the key, so that `confirm` does not read it again.
   * A storage that is not available does not say whether the key is revoked.
   */
  readonly learn: (error: { readonly kind: string } | undefined) => void
  /**
   * Returns a refusal if the caller's access has ended, or a login cannot say. An unavailable
   * storage revokes no key.
   */
  readonly recheck: () => Promise<HttpError | undefined>
  /** When the caller was authenticated, by the clock `now` of the app. */
  readonly since: number
  /** Tells a wait that the caller's access has ended. Absent for API keys. */
  readonly hasEnded?: () => boolean
}
