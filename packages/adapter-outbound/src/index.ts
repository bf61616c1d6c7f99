export { addressGuard, type AddressGuard, type AddressPolicy } from './address-guard.js'
export type { HttpRequest } from './exchange.js'
export type { Unreachable } from './fault.js'
export { guardedFetch, type FetchLimits } from './guarded-fetch.js'
export { httpRuntime, type HttpRuntimeOptions } from './http-runtime.js'
export { openaiRuntime, type OpenaiRuntimeOptions } from './models/openai-runtime.js'
export { outboundHttp, type OutboundHttp, type OutboundOptions } from './outbound-http.js'
export type { HttpOutcome, HttpResponse } from './response.js'
export type { HttpStream, StreamRequest } from './models/streamed-response.js'
export { httpWebhookSender } from './webhooks/webhook-sender.js'
export {
  webhookThread,
  type WebhookThread,
  type WebhookThreadOptions,
} from './webhooks/webhook-thread.js'
