/** What a host program reads, writes and catches. The other entries are for authors of adapters. */
export type { Access } from './domain/access/access.js'
export type { ApiKey, PlatformKey } from './domain/access/api-key.js'
export type { Actor, AuditEntry } from './domain/access/audit.js'
export { PERMISSIONS, type Permission } from './domain/access/permission.js'
export type { ExecutionPrincipal } from './domain/access/principal.js'
export type { Agent, AgentChanges, AgentSettings } from './domain/agents/agent.js'
export type { Message } from './domain/messages/message.js'
export type { MessageRun } from './domain/messages/past-run.js'
export type { SentMessage, ShownMessage } from './domain/messages/shown-message.js'
export type { Invalid } from './domain/values/input-rules.js'
export type { Instant } from './domain/values/instant.js'
export type { Json, JsonObject } from './domain/values/json.js'
export type { PageInput } from './domain/values/page-rules.js'
export type { WebhookDelivery } from './domain/webhooks/delivery.js'
export {
  EVENT_NAMES,
  type EventName,
  type EventOf,
  type SubscribableEvent,
} from './domain/webhooks/event.js'
export type { Webhook, WebhookChanges, WebhookSettings } from './domain/webhooks/webhook.js'
export type { NoAnswer, ServiceError } from './errors.js'
export { MasterKeyError } from './maintenance/master-key.js'
export type { SendInput } from './messages/draft-message.js'
export type { FoundMessage } from './messages/read-messages.js'
export type { MessageStory } from './messages/read-story.js'
export type { Sent } from './messages/send-message.js'
export type { StreamEvent } from './messages/stream/stream-cursor.js'
export type { AnswerStream } from './messages/stream/stream-feed.js'
export type { MessagingService } from './messaging-service.js'
export type { ProjectStats } from './operations/read-stats.js'
export { defaultPolicy, type Policy, type PolicyInput } from './policy.js'
export type { Project } from './ports/credential-store.js'
export type { DeliveryDetail } from './ports/delivery-store.js'
export type { SessionSummary } from './ports/message-store.js'
export type { Recovery } from './ports/recovery-store.js'
export type { Page, Unavailable } from './ports/stored.js'
export {
  functionRuntime,
  type AgentFunction,
  type FunctionRuntimeOptions,
} from './runtimes/function-runtime.js'
export { createService, type ServiceOptions } from './service.js'
export { MessagingError } from './throwing.js'
export type { EventHandler, ListenInput } from './webhooks/event-listener.js'
export type { Listening } from './webhooks/event-listeners.js'
export type { CreatedWebhook } from './webhooks/manage-webhooks.js'
export type { EventsOfLog } from './webhooks/read-events.js'
export type { DeliveryStory } from './webhooks/read-receivers.js'
