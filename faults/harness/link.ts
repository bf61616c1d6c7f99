import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy between the servers and their database. */
export type Link = {
  readonly port: number
  /** Closes all connections, and each new connection until `repair`. */
  cut(): void
  /** Delays all data in both directions until `repair`. */
  delay(ms: number): void
  repair(): void
  close(): Promise<void>
}

export async function openLink(to: number): Promise<Link> {
  const sockets = new Set<Socket>()
  let isCut = false
  let delayMs = 0

  function forward(from: Socket, into: Socket): void {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('data', (chunk) => later(() => void into.write(chunk)))
    from.on('close', () => {
      sockets.delete(from)
      later(() => into.destroy())
    })
  }
  // Keeps the order of the bytes when the delay changes.
  let lastAt = 0
  function later(act: () => void): void {
    const at = Math.max(lastAt, Date.now() + delayMs)
    lastAt = at
    if (at <= Date.now()) act()
    else setTimeout(act, at - Date.now())
  }

  const server = createServer((client) => {
    if (isCut) return void client.destroy()
    const upstream = connect(to, '127.0.0.1')
    forward(client, upstream)
    forward(upstream, client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cutAll = (): void => sockets.forEach((socket) => socket.destroy())
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => {
      isCut = true
      cutAll()
    },
    delay: (ms) => (delayMs = ms),
    repair: () => {
      isCut = false
      delayMs = 0
    },
    close: async () => {
      cutAll()
      server.close()
      await once(server, 'close')
    },
  }
}
