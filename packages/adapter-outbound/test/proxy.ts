import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A proxy that opens tunnels, and records what it was asked for. */
export async function proxyOn(server: Server, refuse?: string) {
  const asked: [string | undefined, string | undefined][] = []
  server.on('connect', ({ url = '', headers }, socket) => {
    asked.push([url, headers['proxy-authorization']])
    socket.on('error', () => undefined)
    if (refuse !== undefined) return socket.end(`HTTP/1.1 ${refuse}\r\n\r\n`)
    const { hostname, port } = new URL(`http://${url}`)
    const target = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      target.pipe(socket).pipe(target)
    })
    target.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    socket.on('close', () => target.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close().closeAllConnections()
  })
  return { asked, at: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}
