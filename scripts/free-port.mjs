import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Linux and macOS give other programs no port below 32768 by chance. */
const [FIRST, END] = [20_000, 32_768]

/**
 * Returns a port of 127.0.0.1 without a listener. Until the caller listens, another program gets
 * this port only by asking for it.
 * @returns {Promise<number>}
 */
export async function freePort() {
  const port = randomInt(FIRST, END)
  return (await isFree(port)) ? port : freePort()
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
const isFree = (port) =>
  new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
