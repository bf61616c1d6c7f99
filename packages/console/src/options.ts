import type { ApiKey, Crypto, MessagingService } from '@org/agent-messaging-core'
import type { Catcher } from './catcher.js'
import type { SignInLinks } from './sign-in-links.js'

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

/** What the pages are made with. */
export type ConsoleDeps = Omit<ConsoleOptions, 'catcher' | 'publicUrl'> & {
  readonly publicUrl: () => string | undefined
  readonly links: SignInLinks
  readonly catcher: Catcher | undefined
}

/** What the handlers of one request share. `apiKey` is there on every page but that of signing in. */
export type Env = { Variables: { apiKey: ApiKey; hasCatcher: boolean } }
