import type { ApiKey, MessagingService } from '@org/agent-messaging-core'
import type { Catcher } from './catcher.js'
import type { ConsoleOptions } from './options.js'
import type { SignInLinks } from './sign-in-links.js'

/** The dependencies that all pages share. */
export type ConsoleDeps = Omit<ConsoleOptions, 'catcher' | 'publicUrl'> & {
  readonly publicUrl: () => string | undefined
  readonly links: SignInLinks
  readonly catcher: Catcher | undefined
}

/**
 * The variables that the handlers of one request share. The sign-in page, and the pages of an
 * operator who has opened no project, have no `apiKey`.
 */
export type Env = {
  Variables: {
    apiKey: ApiKey
    isOperator: boolean
    projectName: string
    /** The calls that the audit log records, in the name of this session. */
    changes: ReturnType<MessagingService['changesBy']>
    hasCatcher: boolean
  }
}
