import { agentsOf, sessionsOf } from './agents.js'
import { eventsOf } from './events.js'
import { createHttp, segment, type ClientOptions, type Http } from './http.js'
import { messagesOf } from './messages.js'
import { rowsOf } from './pages.js'
import { principalsOf } from './principals.js'
import type { ApiKey, CreatedApiKey, NewApiKey } from './resources.js'
import { deliveriesOf, recoveriesOf, webhooksOf } from './webhooks-and-deliveries.js'

export type Client = ReturnType<typeof createClient>

/**
 * Creates a client for the API of one project. An error response rejects with an `ApiError`.
 * Requests that are safe to repeat are retried after a failed connection, and after a 429, 502, 503
 * or 504. The client waits at least as long as `Retry-After` says.
 */
export function createClient(options: ClientOptions) {
  const http = createHttp(options)
  return {
    messages: messagesOf(http),
    agents: agentsOf(http),
    sessions: sessionsOf(http),
    principals: principalsOf(http),
    webhooks: webhooksOf(http),
    deliveries: deliveriesOf(http),
    events: eventsOf(http),
    recoveries: recoveriesOf(http),
    /** All methods need the permission `project:admin`. */
    keys: keysOf(http),
  }
}

function keysOf(http: Http) {
  return {
    create: (settings: NewApiKey): Promise<CreatedApiKey> =>
      http.json({ method: 'POST', path: '/v1/keys', body: settings }),
    list: (): AsyncGenerator<ApiKey, void, undefined> => rowsOf(http, '/v1/keys'),
    revoke: (id: string): Promise<void> =>
      http.json({ method: 'DELETE', path: `/v1/keys${segment(id)}`, retryable: true }),
  }
}
