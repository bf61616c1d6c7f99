export { ApiError } from './api-error.js'
export { createClient, type Client } from './client.js'
export { NotCompletedError, type CompleteOptions } from './complete.js'
export type { ClientOptions } from './http.js'
export type { EventLogPage, LoggedEvent } from './events.js'
export type { StreamEvent } from './message-stream.js'
export type { MessageSearch } from './messages.js'
export type {
  Agent,
  AgentChange,
  ActorKind,
  ApiKey,
  AuditAction,
  AuditEntry,
  AuditFilter,
  CreatedAgent,
  CreatedApiKey,
  CreatedWebhook,
  Delivery,
  DeliveryAttempt,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryStatus,
  FoundMessage,
  Message,
  MessageState,
  MetadataCondition,
  NewAgent,
  NewApiKey,
  NewMessage,
  NewRecovery,
  NewWebhook,
  Permission,
  Project,
  PrincipalTraces,
  Recovery,
  SendOptions,
  Sent,
  Session,
  Webhook,
  WebhookChange,
  WebhookFilter,
} from './resources.js'
