import type { Actor, SendingKey } from '@org/agent-messaging-core'
import type { RequestFacts } from './options.js'

/** The variables that the handlers of one request share. */
export type Env = {
  Variables: {
    requestId: string
    /** The path of the app, if the host has set it. */
    basePath: string | undefined
    /** Set when the API key is authorized. */
    projectId: string
    /** The caller that the audit log names. Set with `projectId`, unless the host has set it. */
    actor: Actor
    /** The API key, for the send. Set with `projectId`. A recalled key is not read again. */
    sentBy: SendingKey
    /** Set for a recalled key. Reads the key, and returns a refusal if it is not valid. */
    refuseRevoked?: () => Promise<Response | undefined>
    /** Set on the route for late answers, which takes a run token instead of an API key. */
    runToken: string
    refusal?: Pick<RequestFacts, 'errorCode' | 'reason'>
  }
}
