import type { EndpointOptions, withDefaults } from '@org/agent-messaging-http-kit'

export type McpEndpointOptions = EndpointOptions & {
  /**
   * URL at which clients reach this server. Pages of its origin can call the route. Pages of
   * `localhost` always can, and all other pages never.
   */
  readonly publicUrl?: (() => string | undefined) | undefined
}

export type Deps = ReturnType<typeof withDefaults<McpEndpointOptions>>
