import type { RequestFacts } from '@org/agent-messaging-adapter-http'
import type { MessagingService } from '@org/agent-messaging-core'
import { isMissing, needsPackage, type Crypto } from '@org/agent-messaging-core/runtime'
import type { Authenticate } from '@org/agent-messaging-http-kit'
import { SetupError } from './setup-error.js'

/** What every endpoint gets. */
export type EndpointDeps = {
  readonly service: MessagingService
  readonly crypto: Crypto
  readonly newId: () => string
  /** URL at which others reach the endpoints, or undefined if no setting has it. */
  readonly publicUrl: () => string | undefined
  readonly authenticate?: Authenticate | undefined
  /** Other origins whose pages can call the endpoints. */
  readonly corsOrigins?: readonly string[] | undefined
  readonly onError: (error: unknown, requestId: string) => void
  readonly onRequest?: ((facts: RequestFacts) => void) | undefined
}

/** An app that answers requests, with the bindings of @hono/node-server. */
export type App = { fetch(request: Request, bindings?: object): Response | Promise<Response> }
type Endpoint = {
  /** The only path of the endpoint. With `/` at its end: the start of all its paths. */
  readonly root: string
  /** Loads the package only if the endpoint is on. */
  readonly open: (deps: EndpointDeps) => Promise<App>
}

/**
 * The protocols that the service can speak besides its own API. Bundlers accept a missing package
 * only in an `import` inside `try`.
 */
const endpoints = {
  a2a: {
    root: '/a2a/',
    open: async (deps) => {
      try {
        return (await import('@org/agent-messaging-endpoint-a2a')).createA2aEndpoint(deps)
      } catch (error) {
        throw asMissing(error, 'endpoint-a2a')
      }
    },
  },
  'ag-ui': {
    root: '/ag-ui/v1/',
    open: async (deps) => {
      try {
        return (await import('@org/agent-messaging-endpoint-ag-ui')).createAgUiEndpoint(deps)
      } catch (error) {
        throw asMissing(error, 'endpoint-ag-ui')
      }
    },
  },
  'ai-sdk': {
    root: '/ai-sdk/v1/',
    open: async (deps) => {
      try {
        return (await import('@org/agent-messaging-endpoint-ai-sdk')).createAiSdkEndpoint(deps)
      } catch (error) {
        throw asMissing(error, 'endpoint-ai-sdk')
      }
    },
  },
  mcp: { root: '/mcp', open: (deps) => openMcp(deps, false) },
  /** With the tool that publishes events. */
  'mcp-publish': { root: '/mcp', open: (deps) => openMcp(deps, true) },
  openai: {
    root: '/openai/v1/',
    open: async (deps) => {
      try {
        return (await import('@org/agent-messaging-endpoint-openai')).createOpenAiEndpoint(deps)
      } catch (error) {
        throw asMissing(error, 'endpoint-openai')
      }
    },
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
  return (path) =>
    opened.find(({ root }) => (root.endsWith('/') ? path.startsWith(root) : path === root))?.app
}

async function openMcp(deps: EndpointDeps, publishes: boolean): Promise<App> {
  try {
    const { createMcpEndpoint } = await import('@org/agent-messaging-endpoint-mcp')
    return createMcpEndpoint({ ...deps, publishes })
  } catch (error) {
    throw asMissing(error, 'endpoint-mcp')
  }
}

/** Names the command that installs an optional package, if that is what the import lacks. */
export function asMissing(error: unknown, folder: string): unknown {
  const name = `@org/agent-messaging-${folder}`
  return isMissing(error, name) ? new SetupError(`http ${needsPackage(name)}`, 2) : error
}
