import type { MessagingService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'

/** Where the console is: every address of it begins so. */
export const BASE = '/console'

export type ConsoleOptions = {
  readonly service: MessagingService
  readonly crypto: Crypto
  /** Where others reach this server, once that is known. Cookies are for https alone when it says so. */
  readonly publicUrl?: (() => string | undefined) | undefined
  /** A receiver of webhooks of our own, to try things out with: open to everybody who reaches this server. Without, there is none. */
  readonly catcher?: boolean | undefined
  /** Hears of what was thrown and must not have been. */
  readonly onError?: ((error: unknown) => void) | undefined
}
