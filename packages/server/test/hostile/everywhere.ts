import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { certificate, certificateKey } from '../../../adapter-outbound/test/certificate.js'
import { http } from '../../../adapter-outbound/test/raw-server.js'

/** The public address of these tests. A connection outside of 11.0.0.0/8 is a leak. */
export const PUBLIC = '11.22.33.44'
const isPublic = (address: string): boolean => address.startsWith('11.')

/** A receiver and an agent that answers "hi", at one port of all addresses. */
export type Everywhere = {
  readonly port: number
  /** The local address of each connection. */
  readonly dialled: string[]
  /** The number of deliveries and runs, without health checks of an agent. */
  readonly posts: () => number
  /** The dialled addresses that are not public. */
  readonly leaks: () => readonly string[]
  /** The full text of the response. */
  answer: string
  close(): Promise<void>
}

/** Each response closes its connection, so that the next request dials again. */
export const HI = http('200 OK', '{"response":"hi"}', 'connection: close')

export async function listenEverywhere(scheme: 'http' | 'https'): Promise<Everywhere> {
  const dialled: string[] = []
  let posts = 0
  const sockets = new Set<Socket>()
  const server =
    scheme === 'https'
      ? createTlsServer({ cert: certificate, key: certificateKey })
      : createServer()
  server.on('connection', (socket: Socket) => {
    dialled.push(String(socket.localAddress).replace(/^::ffff:/, ''))
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
  })
  server.on('tlsClientError', () => undefined)
  server.on(scheme === 'https' ? 'secureConnection' : 'connection', (socket: Socket) => {
    socket
      .on('error', () => undefined)
      .on('data', (data) => {
        const text = data.toString('latin1')
        if (text.startsWith('POST ')) posts++
        if (text.includes('\r\n\r\n')) socket.end(everywhere.answer)
      })
  })
  server.listen(0, '::')
  await once(server, 'listening')
  const everywhere: Everywhere = {
    port: (server.address() as AddressInfo).port,
    dialled,
    posts: () => posts,
    leaks: () => dialled.filter((address) => !isPublic(address)),
    answer: HI,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return everywhere
}
