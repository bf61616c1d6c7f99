import type { SendingKey } from '@org/agent-messaging-core'

/** The variables that the handlers of one request share. */
export type Env = {
  Variables: {
    requestId: string
    /** Set when the API key is authorized. */
    projectId: string
    apiKey: string
    /** The key, for the send. A recalled key is not read again. */
    sentBy: SendingKey
  }
}
