import { randomBytes } from 'node:crypto'
import { createServer } from '@org/agent-messaging-server'

export const KEY = 'the-api-key-of-this-test'

/**
 * Starts a server in memory for tests of examples and samples. Returns it with a function that
 * calls its API and returns the body of the answer.
 * @param {Partial<import('@org/agent-messaging-server').ServerOptions>} [options]
 */
export async function exampleServer(options) {
  const server = await createServer({
    port: 0,
    databasePath: ':memory:',
    masterKey: randomBytes(32),
    bootstrapApiKey: KEY,
    addresses: { allowLoopback: true, allowHttp: true },
    ...options,
  })

  /**
   * @param {string} method
   * @param {string} route
   * @param {object} [body]
   * @returns {Promise<Record<string, string>>}
   */
  async function api(method, route, body) {
    const response = await fetch(server.url + route, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return response.json()
  }
  return { server, api }
}
