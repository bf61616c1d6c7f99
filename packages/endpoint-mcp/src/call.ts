import type { Access, Caller } from '@org/agent-messaging-http-kit'

/** The request that calls a tool. */
export type Call = Pick<Access, 'projectId' | 'permissions' | 'actor' | 'sentBy'> & {
  readonly caller: Caller
  readonly traceparent: string | undefined
  readonly tracestate: string | undefined
  /**
   * True after a send that needs no look at the recalled key: the key was valid, or the storage is
   * not available.
   */
  isKeySettled: boolean
}
