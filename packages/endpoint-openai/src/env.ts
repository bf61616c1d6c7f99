import type { SendingKey } from '@org/agent-messaging-core'
import type { KitEnv } from '@org/agent-messaging-http-kit'

/** The variables that the handlers of one request share. */
export type Env = {
  Variables: KitEnv['Variables'] & {
    apiKey: string
    /** The key, for the send. A recalled key is not read again. */
    sentBy: SendingKey
  }
}
