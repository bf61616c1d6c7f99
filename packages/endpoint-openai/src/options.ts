import type { EndpointOptions, withDefaults } from '@org/agent-messaging-http-kit'

export type OpenAiEndpointOptions = EndpointOptions & {
  /** How long a request without `background` and `stream` waits. Default: 10 minutes. */
  readonly maxWaitMs?: number | undefined
}

export type Deps = ReturnType<typeof withDefaults<OpenAiEndpointOptions>>
