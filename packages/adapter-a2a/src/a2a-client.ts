import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from '@a2a-js/sdk/client'

export type Fetch = typeof globalThis.fetch

export type Remote = {
  /** The agent's base URL, or the URL of its card if it ends in `.json`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/**
 * Reads the agent's card and selects a common transport. `signal` ends the request for the card.
 */
export async function connect(fetch: Fetch, remote: Remote, signal: AbortSignal): Promise<Client> {
  const fetchImpl = withHeaders(fetch, remote)
  const fetchCard: Fetch = (input, init) => fetchImpl(input, { ...init, signal })
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ fetchImpl }),
      new RestTransportFactory({ fetchImpl }),
    ],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl: fetchCard }),
    // The blocking mode holds a connection for a whole turn, which proxies and restarts can break.
    clientConfig: { polling: true },
  })
  const { url } = remote
  return url.endsWith('.json')
    ? factory.createFromUrl(url, '')
    : factory.createFromUrl(url.endsWith('/') ? url : `${url}/`)
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
