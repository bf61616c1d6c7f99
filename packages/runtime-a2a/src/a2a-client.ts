import type { AgentCard, AgentInterface } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { jsonTextLimits, jsonTextProblem } from '@org/agent-messaging-core/runtime'
import type { Fetch, Remote } from './remote.js'
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from './sdk.js'

/** A2A 0.3 and 1.x. The SDK counts an interface without a version as 0.3. */
const SUPPORTED_VERSION = /^(?:0\.3|1)(?:\.\d+)*$/
const SUPPORTED_BINDINGS = ['JSONRPC', 'HTTP+JSON']
const legacyCompat = { enabled: true }

/**
 * Reads the agent's card and selects a common transport. `signal` ends the request for the card.
 * Throws if the card offers no version and transport that this service supports.
 */
export async function connect(fetch: Fetch, remote: Remote, signal: AbortSignal): Promise<Client> {
  const fetchImpl = withHeaders(limited(fetch), remote)
  const fetchCard: Fetch = (input, init) => fetchImpl(input, { ...init, signal })
  const cardResolver = new DefaultAgentCardResolver({ fetchImpl: fetchCard, legacyCompat })
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
      new RestTransportFactory({ fetchImpl, legacyCompat }),
    ],
    cardResolver,
    // The blocking mode holds a connection for a whole turn, which proxies and restarts can break.
    clientConfig: { polling: true },
  })
  const { url } = remote
  const card = await (url.endsWith('.json')
    ? cardResolver.resolve(url, '')
    : cardResolver.resolve(url.endsWith('/') ? url : `${url}/`))
  return factory.createFromAgentCard(withSupportedInterfaces(card))
}

/** Keeps the interfaces that this service supports. */
function withSupportedInterfaces(card: AgentCard): AgentCard {
  // A card is the agent's own text: a field can be absent.
  const offered: readonly Partial<AgentInterface>[] = card.supportedInterfaces ?? []
  const isSupported = ({ protocolBinding = '', protocolVersion }: Partial<AgentInterface>) =>
    SUPPORTED_BINDINGS.includes(protocolBinding.toUpperCase()) &&
    SUPPORTED_VERSION.test(protocolVersion || '0.3')
  const supported = offered.filter(isSupported) as AgentInterface[]
  if (supported.length > 0) return { ...card, supportedInterfaces: supported }
  const offers = offered.map(
    ({ protocolBinding = 'an unnamed transport', protocolVersion }) =>
      `A2A ${protocolVersion || 'without a version'} over ${protocolBinding}`,
  )
  throw new Error(
    `the agent offers ${offers.join(', ') || 'no endpoint'}. ` +
      `This service supports A2A 0.3 and 1.0 over ${SUPPORTED_BINDINGS.join(' or ')}`,
  )
}

/** Refuses JSON beyond the limits before the SDK parses it. */
const limited =
  (fetch: Fetch): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (response.body === null) return response
    const text = await response.text()
    const problem = jsonTextProblem(text, jsonTextLimits)
    if (problem !== undefined) throw new Error(`the JSON of the agent ${problem}`)
    const { status, statusText, headers } = response
    return new Response(text, { status, statusText, headers })
  }

/** Sends the secret headers to the agent's origin only, because a card can name any endpoint. */
function withHeaders(fetch: Fetch, { url, headers }: Remote): Fetch {
  const { origin } = new URL(url)
  return (input, init) => {
    const target = input instanceof Request ? input.url : String(input)
    if (!URL.canParse(target) || new URL(target).origin !== origin) return fetch(input, init)
    const merged = { ...Object.fromEntries(new Headers(init?.headers)), ...headers }
    return fetch(input, { ...init, headers: merged })
  }
}
