import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { buildConnector } from './undici.js'
import type { AddressGuard } from './address-guard.js'
import { Fault, TLS_CODE } from './fault.js'
import type { Tunnel } from './proxy.js'
import type { ResolveHost } from './resolve-host.js'

export type DialOptions = {
  readonly guard: Pick<AddressGuard, 'isAllowed'>
  readonly resolve: ResolveHost
  /** Covers DNS, TCP and TLS together. */
  readonly timeoutMs: number
  /** PEM of the certificate authorities to trust instead of Node's own. */
  readonly ca?: string | readonly string[]
  /** Replaces direct connections. */
  readonly tunnel?: Tunnel
}

/** Returns a connected socket. Rejects with a `Fault` or the signal's reason. */
export type Dial = (options: buildConnector.Options, signal: AbortSignal) => Promise<Socket>

/**
 * Resolves and checks the addresses for each connection, and connects to them only. That
 * defeats DNS rebinding. IP literals are checked too: Node calls no `lookup` for them.
 */
export function dialer({ guard, resolve, timeoutMs, ca, tunnel }: DialOptions): Dial {
  const secure = buildConnector({
    timeout: 0,
    allowH2: false,
    ...(ca !== undefined && { ca: [ca].flat() }),
  })

  async function dial(options: buildConnector.Options, signal: AbortSignal) {
    const addresses = await allowedAddresses({ guard, resolve }, options.hostname, signal)
    const socket = tunnel
      ? await tunnel(addresses, portOf(options), signal)
      : await tcp(options, addresses, signal)
    return options.protocol === 'https:' ? tls(secure, options, socket, signal) : socket
  }

  return async (options, signal) => {
    const aborter = new AbortController()
    const abort = () => aborter.abort(signal.reason)
    const timer = setTimeout(
      () => aborter.abort(new Fault('timeout', `no connection within ${timeoutMs} ms`)),
      timeoutMs,
    )
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await dial(options, aborter.signal)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }
}

/**
 * Returns the addresses of a host. One forbidden address makes the whole name forbidden. Otherwise
 * the owner of the name could retry until one gets through. Throws a `Fault` or the signal's
 * reason.
 */
export async function allowedAddresses(
  { guard, resolve }: Pick<DialOptions, 'guard' | 'resolve'>,
  host: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await resolve(host, signal) : [host]
  if (!addresses.every(guard.isAllowed))
    throw new Fault(
      'address_blocked',
      'the name resolves to a private or reserved address that this service does not allow',
    )
  return addresses
}

const portOf = ({ port, protocol }: buildConnector.Options) =>
  Number(port || (protocol === 'https:' ? 443 : 80))

const TCP_KEEP_ALIVE_MS = 60_000
/** Node tries the next address if one does not answer within this time. */
const NEXT_ADDRESS_AFTER_MS = 1_000

function tcp(
  options: buildConnector.Options,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<Socket> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  const socket = connectTcp({
    host: options.hostname,
    port: portOf(options),
    lookup: (_name, _options, callback) => callback(null, found),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    noDelay: true,
  })
  return socketOrAbort(socket, signal, (resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Fault('connect', `no connection (${error.code ?? 'failed'})`)),
    )
  })
}

function tls(
  secure: buildConnector.connector,
  options: buildConnector.Options,
  tcpSocket: Socket,
  signal: AbortSignal,
): Promise<Socket> {
  return socketOrAbort(tcpSocket, signal, (resolve, reject) => {
    secure({ ...options, httpSocket: tcpSocket }, (error, socket) => {
      if (error) reject(new Fault('tls', tlsDetail(error)))
      else resolve(socket)
    })
  })
}

const tlsDetail = ({ code }: NodeJS.ErrnoException) => {
  if (code === 'ECONNRESET') return 'the connection ended during the TLS handshake'
  return code !== undefined && TLS_CODE.test(code) && code !== 'ERR_TLS_CERT_ALTNAME_INVALID'
    ? `the TLS handshake failed (${code})`
    : `the certificate is not trusted (${code ?? 'unknown'})`
}

/** Rejects with the signal's reason on abort. Destroys the socket on any rejection. */
function socketOrAbort(
  socket: Socket,
  signal: AbortSignal,
  begin: (resolve: (socket: Socket) => void, reject: (error: Error) => void) => void,
) {
  return new Promise<Socket>((resolve, reject) => {
    const aborted = () => reject(signal.reason as Error)
    signal.addEventListener('abort', aborted, { once: true })
    begin(resolve, reject)
    if (signal.aborted) aborted()
  }).catch((error: unknown) => {
    socket.destroy()
    throw error
  })
}
