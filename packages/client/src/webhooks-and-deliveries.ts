import { segment, type Http } from './http.js'
import { rowsOf } from './pages.js'
import type {
  CreatedWebhook,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  NewRecovery,
  NewWebhook,
  Recovery,
  Webhook,
  WebhookChange,
} from './resources.js'

export function webhooksOf(http: Http) {
  const path = (id: string, rest = ''): string => `/v1/webhooks${segment(id)}${rest}`
  return {
    create: (settings: NewWebhook): Promise<CreatedWebhook> =>
      http.json({ method: 'POST', path: '/v1/webhooks', body: settings }),
    get: (id: string): Promise<Webhook> => http.json({ method: 'GET', path: path(id) }),
    list: (): AsyncGenerator<Webhook, void, undefined> => rowsOf(http, '/v1/webhooks'),
    /** `null` clears a field. A `url` on another origin requires new `headers`, or `null`. */
    update: (id: string, change: WebhookChange): Promise<Webhook> =>
      http.json({ method: 'PATCH', path: path(id), body: change, retryable: true }),
    delete: (id: string): Promise<void> => http.json({ method: 'DELETE', path: path(id) }),
    enable: (id: string): Promise<Webhook> =>
      http.json({ method: 'POST', path: path(id, '/enable'), retryable: true }),
    disable: (id: string): Promise<Webhook> =>
      http.json({ method: 'POST', path: path(id, '/disable'), retryable: true }),
    /** Sends a `webhook.test` event to this webhook only. */
    test: (id: string): Promise<Delivery> => http.json({ method: 'POST', path: path(id, '/test') }),
    /** Both secrets sign for `graceMs`. The default is one day. */
    rotateSecret: (
      id: string,
      rotation: { readonly secret?: string; readonly graceMs?: number } = {},
    ): Promise<CreatedWebhook> =>
      http.json({ method: 'POST', path: path(id, '/rotate-secret'), body: rotation }),
    finishRotation: (id: string): Promise<Webhook> =>
      http.json({ method: 'POST', path: path(id, '/rotate-secret/finish'), retryable: true }),
  }
}

export function deliveriesOf(http: Http) {
  const path = (id: string, rest = ''): string => `/v1/deliveries${segment(id)}${rest}`
  return {
    /** Returns the delivery with its body and all attempts. */
    get: (id: string): Promise<DeliveryDetail> => http.json({ method: 'GET', path: path(id) }),
    list: (filter: DeliveryFilter = {}): AsyncGenerator<Delivery, void, undefined> =>
      rowsOf(http, '/v1/deliveries', filter),
    redeliver: (id: string): Promise<Delivery> =>
      http.json({ method: 'POST', path: path(id, '/redeliver') }),
    cancel: (id: string): Promise<Delivery> =>
      http.json({ method: 'POST', path: path(id, '/cancel') }),
    /** Cancels a delivery that others of its session wait for. The next one is sent. */
    skip: (id: string): Promise<Delivery> => http.json({ method: 'POST', path: path(id, '/skip') }),
  }
}

export function recoveriesOf(http: Http) {
  const path = (id: string, rest = ''): string => `/v1/recoveries${segment(id)}${rest}`
  return {
    /** Starts a task that sends the matching deliveries again. Follow it with `get`. */
    start: (filter: NewRecovery = {}): Promise<Recovery> =>
      http.json({ method: 'POST', path: '/v1/recoveries', body: filter }),
    get: (id: string): Promise<Recovery> => http.json({ method: 'GET', path: path(id) }),
    list: (): AsyncGenerator<Recovery, void, undefined> => rowsOf(http, '/v1/recoveries'),
    cancel: (id: string): Promise<Recovery> =>
      http.json({ method: 'POST', path: path(id, '/cancel') }),
  }
}
