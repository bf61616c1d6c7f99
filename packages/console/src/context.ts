import { Hono, type Context } from 'hono'
import type { Actor, ApiKey, Instant } from '@org/agent-messaging-core'
import type { ListedEventType, PortalSession } from '@org/agent-messaging-core/storage'
import type { Catcher } from './webhooks/catcher.js'
import type { Sheet } from './parts/sheet.js'
import type { Count } from './parts/parts.js'
import type { PortalLook } from '@org/agent-messaging-http-kit'
import type { ConsoleOptions, PortalOptions } from './options.js'
import type { SignInLinks } from './access/sign-in-links.js'

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
