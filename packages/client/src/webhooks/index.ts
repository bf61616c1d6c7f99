export { memoryDedupe, type DedupeStore } from './dedupe.js'
export type {
  EventData,
  EventName,
  ExecutionPrincipal,
  Json,
  JsonObject,
  PublishedEvent,
  RunError,
  WebhookEvent,
} from './events.js'
export { isServiceEvent } from './events.js'
export {
  nodeWebhookHandler,
  webhookHandler,
  type NodeRequest,
  type NodeResponse,
} from './handlers.js'
export type { EventHandlers, ReceiverOptions } from './receive.js'
export type { Secret } from './secrets.js'
export { signTestEvent, type SignedTestEvent } from './verify.js'
export { WebhookVerificationError, type VerificationErrorCode } from './verification-error.js'
export { verify, type Delivery, type HeadersLike, type VerifyOptions } from './verify.js'
