import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { certificate, certificateKey } from './certificate.js'

export type RawServer = {
  readonly port: number
  /** `http://host:port/hook`, or `https:` of a TLS server. */
  readonly url: string
  /** Each complete request in Latin-1. */
  readonly requests: readonly string[]
  /** The number of accepted TCP connections. */
  readonly connections: number
  /** The open connections. */
  readonly open: ReadonlySet<Socket>
  close(): Promise<void>
}

/** Runs after each complete request. */
type Answer = (socket: Socket, request: string) => void

const LOOPBACK = '127.0.0.1'

/** A server whose test writes the response bytes, well-formed or not. */
export const rawServer = (answer: Answer, { host = LOOPBACK } = {}): Promise<RawServer> =>
  listening(createServer(), { scheme: 'http', event: 'connection', host }, answer)

/** The same with TLS, by default with the self-signed certificate. */
export const rawTlsServer = (
  answer: Answer,
  { host = LOOPBACK, cert = certificate, key = certificateKey } = {},
): Promise<RawServer> =>
  listening(
    createTlsServer({ cert, key }),
    { scheme: 'https', event: 'secureConnection', host },
    answer,
  )

type Kind = {
  readonly scheme: 'http' | 'https'
  readonly event: 'connection' | 'secureConnection'
  readonly host: string
}

/** A response with this status, body and headers. */
export const http = (status: string, body = '', ...headers: readonly string[]): string =>
  [`HTTP/1.1 ${status}`, `content-length: ${Buffer.byteLength(body)}`, ...headers, '', body].join(
    '\r\n',
  )

async function listening(
  server: Server,
  { scheme, event, host }: Kind,
  answer: Answer,
): Promise<RawServer> {
  const requests: string[] = []
  const open = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    open.add(socket)
    socket.on('error', () => undefined).on('close', () => open.delete(socket))
  })
  server.on('tlsClientError', () => undefined)
  server.on(event, (socket: Socket | TLSSocket) => {
    socket.on('error', () => undefined)
    onRequests(socket, (request) => {
      requests.push(request)
      answer(socket, request)
    })
  })
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${scheme}://${host}:${port}/hook`,
    requests,
    get connections() {
      return connections
    },
    open,
    async close() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function onRequests(socket: Socket, found: (request: string) => void): void {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    for (let head = text.indexOf('\r\n\r\n'); head >= 0; head = text.indexOf('\r\n\r\n')) {
      const end = head + 4 + Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0)
      if (text.length < end) return
      found(text.slice(0, end))
      text = text.slice(end)
    }
  })
}
