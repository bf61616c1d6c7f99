import type { Permission, SendingKey } from '@org/agent-messaging-core'
import type { Caller } from './caller.js'

/** The request that calls a tool. */
export type Call = {
  readonly projectId: string
  readonly permissions: readonly Permission[]
  readonly sentBy: SendingKey
  readonly caller: Caller
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /** True after a send has stored its message, so the recalled key was valid. */
  isStored: boolean
}
