import type { EndpointOptions, withDefaults } from '@org/agent-messaging-http-kit'

export type A2aEndpointOptions = EndpointOptions & {
  /**
   * URL at which clients reach this server, for the agent cards. Default: the origin of the request
   * for the card.
   */
  readonly publicUrl?: (() => string | undefined) | undefined
  /** How long a send without `returnImmediately` waits. Default: 10 minutes. */
  readonly maxWaitMs?: number | undefined
}

export type Deps = ReturnType<typeof withDefaults<A2aEndpointOptions>>
