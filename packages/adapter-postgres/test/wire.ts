import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy between a client and its database. */
export type Wire = {
  /** The database's URL through the proxy. */
  readonly url: string
  /** Makes all open connections dead, as if the machine disappeared: no data and no end arrives. */
  silence(): void
  /** Does so for new connections, too. They are accepted and get no answer. */
  disappear(): void
  close(): Promise<void>
}

export async function openWire(databaseUrl: string, address = '127.0.0.1'): Promise<Wire> {
  const to = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let isThere = true

  function forward(from: Socket, into: Socket): void {
    sockets.add(from)
    from.on('error', () => undefined).on('close', () => into.destroy())
    from.pipe(into)
  }

  const server = createServer((client) => {
    if (!isThere) return void sockets.add(client.on('error', () => undefined).resume())
    const upstream = connect(Number(to.port), to.hostname)
    forward(client, upstream)
    forward(upstream, client)
  }).listen(0, address)
  await once(server, 'listening')
  const silence = (): void => sockets.forEach((socket) => void socket.unpipe().resume())
  return {
    url: Object.assign(new URL(databaseUrl), {
      hostname: address.includes(':') ? `[${address}]` : address,
      port: (server.address() as AddressInfo).port,
    }).href,
    silence,
    disappear: () => {
      isThere = false
      silence()
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
