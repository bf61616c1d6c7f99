import { isMissing, needsPackage } from '@org/agent-messaging-core/runtime'

const NAME = '@agentclientprotocol/sdk'

async function load() {
  // Bundlers accept a missing package only in an `import` inside `try`.
  try {
    const sdk = await import('@agentclientprotocol/sdk')
    // A bundle of Next.js has an empty module in the place of a missing package.
    if ('client' in sdk) return sdk
  } catch (error) {
    if (!isMissing(error, NAME)) throw error
  }
  throw new Error(needsPackage(NAME))
}

/** The parts of the SDK that the service uses. The SDK is an optional package. */
export const { CLIENT_METHODS, client, methods, PROTOCOL_VERSION, RequestError } = await load()
