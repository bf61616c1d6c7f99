import { createHttp, step, type ClientOptions } from './http.js'
import { messagesOf } from './messages.js'
import { rowsOf } from './pages.js'
import { principalsOf } from './principals.js'
import type {
  Agent,
  AgentChange,
  ApiKey,
  CreatedAgent,
  CreatedApiKey,
  CreatedWebhook,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  NewAgent,
  NewApiKey,
  NewWebhook,
  Session,
  Webhook,
  WebhookChange,
} from './resources.js'

export type Client = ReturnType<typeof createClient>

/**
 * A client of one project's API. Requests that may be repeated are: after a failed connection, and after a 429, 502, 503 or
 * 504, no earlier than `Retry-After` says. What is refused rejects with an `ApiError`.
 */
export function createClient(options: ClientOptions) {
  const http = createHttp(options)
  const agent = (idOrName: string, rest = ''): string => `/v1/agents${step(idOrName)}${rest}`
  const webhook = (id: string, rest = ''): string => `/v1/webhooks${step(id)}${rest}`
  const delivery = (id: string, rest = ''): string => `/v1/deliveries${step(id)}${rest}`

  return {
    messages: messagesOf(http),
    agents: {
      create: (settings: NewAgent): Promise<CreatedAgent> =>
        http.json({ method: 'POST', path: '/v1/agents', body: settings }),
      get: (idOrName: string): Promise<Agent> =>
        http.json({ method: 'GET', path: agent(idOrName) }),
      list: (): AsyncGenerator<Agent, void, undefined> => rowsOf(http, '/v1/agents'),
      update: (idOrName: string, change: AgentChange): Promise<CreatedAgent> =>
        http.json({ method: 'PATCH', path: agent(idOrName), body: change, mayRepeat: true }),
      start: (idOrName: string): Promise<Agent> =>
        http.json({ method: 'POST', path: agent(idOrName, '/start'), mayRepeat: true }),
      stop: (idOrName: string): Promise<Agent> =>
        http.json({ method: 'POST', path: agent(idOrName, '/stop'), mayRepeat: true }),
      /** `force` deletes open messages with it. */
      delete: (idOrName: string, { force = false } = {}): Promise<void> =>
        http.json({ method: 'DELETE', path: agent(idOrName), query: { force } }),
    },
    sessions: {
      /** Those with the newest messages first. */
      list: (idOrName: string): AsyncGenerator<Session, void, undefined> =>
        rowsOf(http, agent(idOrName, '/sessions')),
      /** Erases it with its messages; `force` with open ones too. */
      erase: (idOrName: string, sessionId: string, { force = false } = {}): Promise<void> =>
        http.json({
          method: 'DELETE',
          path: agent(idOrName, `/sessions${step(sessionId)}`),
          query: { force },
        }),
    },
    principals: principalsOf(http),
    webhooks: {
      create: (settings: NewWebhook): Promise<CreatedWebhook> =>
        http.json({ method: 'POST', path: '/v1/webhooks', body: settings }),
      get: (id: string): Promise<Webhook> => http.json({ method: 'GET', path: webhook(id) }),
      list: (): AsyncGenerator<Webhook, void, undefined> => rowsOf(http, '/v1/webhooks'),
      /** `null` clears an optional field. With a `url` on another origin, `headers` are to be given anew, or null. */
      update: (id: string, change: WebhookChange): Promise<Webhook> =>
        http.json({ method: 'PATCH', path: webhook(id), body: change, mayRepeat: true }),
      delete: (id: string): Promise<void> => http.json({ method: 'DELETE', path: webhook(id) }),
      enable: (id: string): Promise<Webhook> =>
        http.json({ method: 'POST', path: webhook(id, '/enable'), mayRepeat: true }),
      disable: (id: string): Promise<Webhook> =>
        http.json({ method: 'POST', path: webhook(id, '/disable'), mayRepeat: true }),
      /** Sends a `webhook.test` event to this webhook alone. */
      test: (id: string): Promise<Delivery> =>
        http.json({ method: 'POST', path: webhook(id, '/test') }),
      /** For `graceMs`, a day unless given, both secrets sign. */
      rotateSecret: (
        id: string,
        rotation: { readonly secret?: string; readonly graceMs?: number } = {},
      ): Promise<CreatedWebhook> =>
        http.json({ method: 'POST', path: webhook(id, '/rotate-secret'), body: rotation }),
      finishRotation: (id: string): Promise<Webhook> =>
        http.json({ method: 'POST', path: webhook(id, '/rotate-secret/finish'), mayRepeat: true }),
      /** Redelivers one page of what matches, 1,000 unless told otherwise; with `nextCursor` there may be more. */
      recover: (
        id: string,
        filter: Omit<DeliveryFilter, 'webhookId'> & {
          readonly limit?: number
          readonly cursor?: string
        } = {},
      ): Promise<{ readonly count: number; readonly nextCursor: string | null }> =>
        http.json({ method: 'POST', path: webhook(id, '/recover'), body: filter }),
    },
    deliveries: {
      /** With its body and every attempt. */
      get: (id: string): Promise<DeliveryDetail> =>
        http.json({ method: 'GET', path: delivery(id) }),
      list: (filter: DeliveryFilter = {}): AsyncGenerator<Delivery, void, undefined> =>
        rowsOf(http, '/v1/deliveries', filter),
      redeliver: (id: string): Promise<Delivery> =>
        http.json({ method: 'POST', path: delivery(id, '/redeliver') }),
      cancel: (id: string): Promise<Delivery> =>
        http.json({ method: 'POST', path: delivery(id, '/cancel') }),
    },
    /** All need `project:admin`. */
    keys: {
      create: (settings: NewApiKey): Promise<CreatedApiKey> =>
        http.json({ method: 'POST', path: '/v1/keys', body: settings }),
      list: (): AsyncGenerator<ApiKey, void, undefined> => rowsOf(http, '/v1/keys'),
      revoke: (id: string): Promise<void> =>
        http.json({ method: 'DELETE', path: `/v1/keys${step(id)}`, mayRepeat: true }),
    },
  }
}
