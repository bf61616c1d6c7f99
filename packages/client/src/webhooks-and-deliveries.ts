import { pathsBelow, type Http } from './http.js'
import { listOf, type List, type PageInput } from './pages.js'
import type {
  CreatedWebhook,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  NewRecovery,
  NewWebhook,
  Recovery,
  Story,
  TestEvent,
  Webhook,
  WebhookChange,
} from './resources.js'

export function webhooksOf(http: Http) {
  const path = pathsBelow('/v1/webhooks')
  return {
    create: (settings: NewWebhook): Promise<CreatedWebhook> => http.post('/v1/webhooks', settings),
    get: (id: string): Promise<Webhook> => http.get(path(id)),
    list: (page?: PageInput): List<Webhook> => listOf(http, '/v1/webhooks', page),
    /** `null` clears a field. A `url` on another origin requires new `headers`, or `null`. */
    update: (id: string, change: WebhookChange): Promise<Webhook> =>
      http.repeatable('PATCH', path(id), change),
    delete: (id: string): Promise<void> => http.json({ method: 'DELETE', path: path(id) }),
    enable: (id: string): Promise<Webhook> => http.repeatable('POST', path(id, '/enable')),
    disable: (id: string): Promise<Webhook> => http.repeatable('POST', path(id, '/disable')),
    /** Sends a `webhook.test` event, or a sample of another event, to this webhook only. */
    test: (id: string, settings: TestEvent = {}): Promise<Delivery> =>
      http.post(path(id, '/test'), settings),
    /** Both secrets sign for `graceMs`. The default is one day. */
    rotateSecret: (
      id: string,
      rotation: { readonly secret?: string; readonly graceMs?: number } = {},
    ): Promise<CreatedWebhook> => http.post(path(id, '/rotate-secret'), rotation),
    finishRotation: (id: string): Promise<Webhook> =>
      http.repeatable('POST', path(id, '/rotate-secret/finish')),
  }
}

export function deliveriesOf(http: Http) {
  const path = pathsBelow('/v1/deliveries')
  return {
    /** Returns the delivery with its body and all attempts. */
    get: (id: string): Promise<DeliveryDetail> => http.get(path(id)),
    /** Says why the receiver does not have the delivery. */
    story: (id: string): Promise<Story> => http.get(path(id, '/story')),
    list: (filter?: DeliveryFilter & PageInput): List<Delivery> =>
      listOf(http, '/v1/deliveries', filter),
    redeliver: (id: string): Promise<Delivery> => http.post(path(id, '/redeliver')),
    cancel: (id: string): Promise<Delivery> => http.post(path(id, '/cancel')),
    /** Cancels a delivery that others of its session wait for. The next one is sent. */
    skip: (id: string): Promise<Delivery> => http.post(path(id, '/skip')),
  }
}

export function recoveriesOf(http: Http) {
  const path = pathsBelow('/v1/recoveries')
  return {
    /** Starts a task that sends the matching deliveries again. Follow it with `get`. */
    start: (filter: NewRecovery = {}): Promise<Recovery> => http.post('/v1/recoveries', filter),
    get: (id: string): Promise<Recovery> => http.get(path(id)),
    list: (page?: PageInput): List<Recovery> => listOf(http, '/v1/recoveries', page),
    cancel: (id: string): Promise<Recovery> => http.post(path(id, '/cancel')),
    continue: (id: string): Promise<Recovery> => http.post(path(id, '/continue')),
  }
}
