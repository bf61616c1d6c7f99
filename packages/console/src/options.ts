import type { MessagingService, SubscribableEvent } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import type { PortalLook } from '@org/agent-messaging-http-kit'

/** Every address of the console starts with this path. */
export const BASE = '/console'

export type ConsoleOptions = {
  readonly service: MessagingService
  readonly crypto: Crypto
  /**
   * Returns the public URL of the server, once it is known. With https, cookies are limited to
   * https.
   */
  readonly publicUrl?: (() => string | undefined) | undefined
  /**
   * Includes a receiver of webhooks for tests. Every client of the server can send to this
   * receiver.
   */
  readonly catcher?: boolean | undefined
  /** The key that opens the pages about all projects. Without it, nobody can open them. */
  readonly operatorKey?: string | undefined
  /** The pages that portal links open. */
  readonly portal?: Partial<PortalOptions> | undefined
  /** Receives unexpected exceptions. */
  readonly onError?: ((error: unknown) => void) | undefined
}

export type PortalOptions = {
  readonly look: PortalLook
  /** The origins of pages that can show the portal in a frame. */
  readonly frameOrigins: readonly string[]
  /** The events that customers see. Absent: all. */
  readonly events?: readonly SubscribableEvent[] | undefined
}
