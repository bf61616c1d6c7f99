import { Hono, type Context } from 'hono'
import type {
  Actor,
  ApiKey,
  Instant,
  MessagingService,
  SubscribableEvent,
} from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import type { ListedEventType, PortalSession } from '@org/agent-messaging-core/storage'
import type { Catcher } from './webhooks/catcher.js'
import type { Sheet } from './parts/sheet.js'
import type { Count } from './parts/parts.js'
import type { PortalLook } from '@org/agent-messaging-http-kit'
import type { SignInLinks } from './access/sign-in-links.js'

export { BASE } from './path.js'

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

/** The dependencies that all pages share. */
export type ConsoleDeps = Omit<ConsoleOptions, 'catcher' | 'publicUrl' | 'portal'> & {
  readonly publicUrl: () => string | undefined
  readonly links: SignInLinks
  readonly catcher: Catcher | undefined
  readonly portal: PortalOptions
}

/**
 * The variables that the handlers of one request share. The sign-in page, and the pages of an
 * operator who has opened no project, have no `apiKey`.
 */
export type Env = {
  Bindings: {
    /** Gets the rows of a list, in place of its page. Only `downloads` sets it. */
    readonly sheet?: Sheet
  }
  Variables: {
    now: () => Instant
    apiKey: ApiKey
    isOperator: boolean
    projectName: string
    /** The session, as the audit log names it. */
    actor: Actor
    /** The id in the portal cookie. The session can be open or ended. */
    portalId: string | undefined
    /** Present on the pages of a portal session. */
    portal: PortalSession | undefined
    /** The event types that the session sees. Only pages of webhooks have them. */
    eventTypes: readonly ListedEventType[]
    /** The event types and groups that have a checkbox. */
    subscriptions: readonly string[]
    /** Counts for the navigation. Absent on pages that need no session. */
    openQuestions: (() => Promise<Count | undefined>) | undefined
    look: Pick<PortalLook, 'name'> & { logoUrl: string | undefined; styleUrl: string | undefined }
  }
}

/** The request of a page. */
export type PageRequest = Context<Env>

/** The routes of some pages. Their paths are below the console's. */
export const newRoutes = () => new Hono<Env>()
