import type { MessagingService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import type { RequestFacts } from '@org/agent-messaging-adapter-http'
import type { Bindings } from './http-listener.js'

/** The parts of the server that every endpoint gets. */
export type EndpointDeps = {
  readonly service: MessagingService
  readonly crypto: Crypto
  readonly newId: () => string
  /** URL at which others reach this server, or undefined if no setting has it. */
  readonly publicUrl: () => string | undefined
  readonly onError: (error: unknown, requestId: string) => void
  readonly onRequest: (facts: RequestFacts) => void
}

type App = { fetch(request: Request, bindings: Bindings): Response | Promise<Response> }
type Endpoint = {
  /** The path before all routes of the endpoint. */
  readonly root: string
  /** Loads the package only if the endpoint is on. */
  readonly open: (deps: EndpointDeps) => Promise<App>
}

/** The protocols that the server can speak besides its own API. One line for each. */
const endpoints = {
  a2a: {
    root: '/a2a/',
    open: async (deps) =>
      (await import('@org/agent-messaging-endpoint-a2a')).createA2aEndpoint(deps),
  },
  mcp: {
    root: '/mcp',
    open: async (deps) =>
      (await import('@org/agent-messaging-endpoint-mcp')).createMcpEndpoint(deps),
  },
  openai: {
    root: '/openai/v1/',
    open: async (deps) =>
      (await import('@org/agent-messaging-endpoint-openai')).createOpenAiEndpoint(deps),
  },
} as const satisfies Record<string, Endpoint>

export type EndpointName = keyof typeof endpoints
export const ENDPOINT_NAMES = Object.keys(endpoints) as EndpointName[]

/** Returns a function that finds the endpoint of a path. */
export async function openEndpoints(
  names: readonly EndpointName[],
  deps: EndpointDeps,
): Promise<(path: string) => App | undefined> {
  const opened = await Promise.all(
    names.map(async (name) => ({
      root: endpoints[name].root,
      app: await endpoints[name].open(deps),
    })),
  )
  return (path) => opened.find(({ root }) => path.startsWith(root))?.app
}
