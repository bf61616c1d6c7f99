import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import pg from 'pg'
import { onTestFinished } from 'vitest'

/** A server that asks for passwords in clear text and closes each connection, and a pool of it. */
export async function passwordServer(password: pg.PoolConfig['password']) {
  const shown: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.once('data', (bytes) => {
        shown.push(bytes.subarray(5, -1).toString())
        socket.destroy()
      })
      socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'host', database: 'd', password })
  onTestFinished(() => pool.end())
  return { pool, shown }
}
