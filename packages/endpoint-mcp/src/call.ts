import type { Permission, SendingKey } from '@org/agent-messaging-core'
import type { Caller } from '@org/agent-messaging-http-kit'

/** The request that calls a tool. */
export type Call = {
  readonly projectId: string
  readonly permissions: readonly Permission[]
  readonly sentBy: SendingKey
  readonly caller: Caller
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /**
   * True after a send that needs no look at the recalled key: the key was valid, or the storage is
   * not available.
   */
  isKeySettled: boolean
}
