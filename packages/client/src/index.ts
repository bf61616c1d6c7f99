export { ApiError } from './api-error.js'
export { createClient, type Client } from './client.js'
export type { ClientOptions } from './http.js'
export type { StreamEvent } from './message-stream.js'
export { NotCompletedError, type CompleteOptions, type SendOptions } from './messages.js'
export type {
  Agent,
  CreatedAgent,
  CreatedWebhook,
  Delivery,
  DeliveryAttempt,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryStatus,
  Message,
  MessageState,
  NewAgent,
  NewMessage,
  NewWebhook,
  PrincipalTraces,
  Sent,
  Session,
  Webhook,
} from './resources.js'
