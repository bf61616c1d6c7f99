// What sends webhooks, without the runtimes and what those load.
export { addressGuard, type AddressPolicy } from './address-guard.js'
export { outboundHttp, type OutboundOptions } from './outbound-http.js'
export { httpWebhookSender } from './webhook-sender.js'
