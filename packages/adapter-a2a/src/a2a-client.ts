import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client'

export type Fetch = typeof globalThis.fetch

export type Remote = {
  /** The agent's base URL, beside which its card lies at the well-known path; or, ending in `.json`, the card's own. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Reads the agent's card, which `signal` ends, and picks a transport that both sides speak. Rejects when the agent is away or has none. */
export async function connect(fetch: Fetch, remote: Remote, signal: AbortSignal): Promise<Client> {
  const fetchImpl = withHeaders(fetch, remote)
  const fetchCard: Fetch = (input, init) => fetchImpl(input, { ...init, signal })
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl }),
      new RestTransportFactory({ fetchImpl }),
    ],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetchCard }),
    // Never the blocking mode: a connection that is held for a whole turn does not survive proxies, deploys and restarts.
    clientConfig: { polling: true },
  })
  const { url } = remote
  return url.endsWith('.json')
    ? factory.createFromUrl(url, '')
    : factory.createFromUrl(url.endsWith('/') ? url : `${url}/`)
}

/** A card may name an endpoint anywhere: what is secret goes to the origin that the agent was registered with, and nowhere else. */
function withHeaders(fetch: Fetch, { url, headers }: Remote): Fetch {
  const home = new URL(url).origin
  return (input, init) => {
    const target = input instanceof Request ? input.url : String(input)
    const isHome = URL.canParse(target) && new URL(target).origin === home
    return fetch(
      input,
      isHome
        ? { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } }
        : init,
    )
  }
}
