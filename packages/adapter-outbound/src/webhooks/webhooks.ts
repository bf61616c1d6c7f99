// Sends webhooks. This entry does not load the runtimes and their dependencies.
export { addressGuard, type AddressPolicy } from '../address-guard.js'
export { outboundHttp, type OutboundOptions } from '../outbound-http.js'
export { httpWebhookSender } from './webhook-sender.js'
export { Results } from './results.js'
