import { type Socket, isIPv6 } from 'node:net'
import { Client } from './undici.js'
import { Fault } from './fault.js'

/** Opens a connection to the first of the addresses that the proxy can reach. */
export type Tunnel = (
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
) => Promise<Socket>

/**
 * Connects through an HTTP proxy. The proxy gets the address that the guard allowed, so it resolves
 * no name. The proxy's own address is the operator's choice, and the guard does not check it.
 * Throws a `TypeError` if the URL is not one of a proxy.
 */
export function proxyTunnel(url: string): Tunnel {
  const { origin, username, password } = proxyUrl(url)
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const headers =
    username === ''
      ? {}
      : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }

  async function open(authority: string, signal: AbortSignal): Promise<Socket> {
    const client = new Client(origin, { headersTimeout: 0, bodyTimeout: 0, connectTimeout: 0 })
    try {
      const path = authority
      const { statusCode, socket } = await client.connect({ path, headers, signal })
      if (statusCode === 200) return socket as Socket
      socket.destroy()
      throw new Fault('connect', `the proxy answered ${statusCode}`)
    } catch (error) {
      void client.destroy()
      if (signal.aborted) throw signal.reason
      throw error instanceof Fault ? error : new Fault('connect', noConnection(error))
    }
  }

  return async (addresses, port, signal) => {
    let failure: unknown
    for (const address of addresses)
      try {
        return await open(isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`, signal)
      } catch (error) {
        signal.throwIfAborted()
        failure = error
      }
    throw failure
  }
}

/** Parses `http://[user:password@]host[:port]`. `https:` encrypts the way to the proxy. */
function proxyUrl(text: string) {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isProxy = url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.search
  if (!isProxy) throw new TypeError('a proxy must be a URL such as http://proxy.internal:3128')
  return url
}

const noConnection = (error: unknown) =>
  `no connection to the proxy (${(error as NodeJS.ErrnoException).code ?? 'failed'})`
