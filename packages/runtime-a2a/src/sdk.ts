import { isMissing, needsPackage } from '@org/agent-messaging-core/runtime'

const NAME = '@a2a-js/sdk'

async function load() {
  // Bundlers accept a missing package only in an `import` inside `try`, with `await`.
  try {
    const types = await import('@a2a-js/sdk')
    const client = await import('@a2a-js/sdk/client')
    const errors = await import('@a2a-js/sdk/errors')
    // A bundle of Next.js has empty modules in the place of a missing package.
    if ('Role' in types) return { ...types, ...client, ...errors }
  } catch (error) {
    if (!isMissing(error, NAME)) throw error
  }
  throw new Error(needsPackage(NAME))
}

/** The parts of the SDK that the service uses. The SDK is an optional package. */
export const {
  A2AError,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RequestMalformedError,
  RestTransportFactory,
  Role,
  TaskNotFoundError,
  TaskState,
  UnsupportedOperationError,
} = await load()
