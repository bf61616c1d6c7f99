import type { EndpointOptions, withDefaults } from '@org/agent-messaging-http-kit'

export type McpEndpointOptions = EndpointOptions & {
  /**
   * URL at which clients reach this server. Pages of its origin can call the route. Pages of
   * `localhost` always can, and all other pages cannot.
   */
  readonly publicUrl?: (() => string | undefined) | undefined
  /** Offers the tool `publish_event` to keys with `project:publish`. Default: false. */
  readonly publishes?: boolean | undefined
  /**
   * How long a call waits for its answer before it becomes a task, if the client can read tasks.
   * Default: 2 s.
   */
  readonly taskAfterMs?: number | undefined
  /** Other origins whose pages can call the route. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined
}

export type Deps = ReturnType<typeof withDefaults<McpEndpointOptions>>
