import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { certificate, certificateKey } from '../../../adapter-outbound/test/certificate.js'
import { http } from '../../../adapter-outbound/test/raw-server.js'

/** The addresses that count as the internet here; whatever else is connected to is a leak. */
export const PUBLIC = '11.22.33.44'
const isPublic = (address: string): boolean => address.startsWith('11.')

/** A receiver, and an agent that answers "hi", at one port of every address that there is. */
export type Everywhere = {
  readonly port: number
  /** The addresses at which it was connected to. */
  readonly dialled: string[]
  /** How many deliveries and runs it got; an agent is also asked how it is, now and then. */
  readonly posts: () => number
  /** Those of them that no request of the service may ever go to. */
  readonly leaks: () => readonly string[]
  /** What it answers, in full. */
  answer: string
  close(): Promise<void>
}

/** Each answer ends its connection: the next request is a dial of its own. */
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
