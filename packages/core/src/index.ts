export type { CreateAgentError, CreatedAgent } from './agents/create-agent.js'
export type { A2aSetting, A2aSkill } from './domain/agents/a2a-card.js'
export type { Agent, AgentChanges, AgentSettings, OnBusy } from './domain/agents/agent.js'
export type { HoldCause } from './domain/operations/backlog.js'
export { HOLD_CAUSES } from './domain/operations/backlog.js'
export type { Access, ByAccess, SessionScope } from './domain/access/access.js'
export type { ApiKey, ApiKeySettings, Permission } from './domain/access/api-key.js'
export { PERMISSIONS } from './domain/access/api-key.js'
export type { Actor, AuditAction, AuditEntry, ByActor } from './domain/access/audit.js'
export { ACTOR_KINDS, AUDIT_ACTIONS } from './domain/access/audit.js'
export type {
  DeliveryAttempt,
  DeliveryStatus,
  LastFailure,
  RetryPolicy,
  WebhookDelivery,
} from './domain/webhooks/delivery.js'
export { deliveryStatusOf } from './domain/webhooks/delivery.js'
export type {
  EventName,
  EventOf,
  SubscribableEvent,
  WebhookEvent,
} from './domain/webhooks/event.js'
export { EVENT_NAMES } from './domain/webhooks/event.js'
export type { Invalid, Issue } from './domain/values/input-rules.js'
export type { Instant } from './domain/values/instant.js'
export type { Json, JsonObject } from './domain/values/json.js'
export type { PageInput } from './domain/values/page-rules.js'
export type { Limits } from './domain/values/limits.js'
export { defaultLimits } from './domain/values/limits.js'
export type { DispatchPolicy, Message } from './domain/messages/message.js'
export { errorOf, isFinal, statusOf } from './domain/messages/message.js'
export type { ExecutionPrincipal, Principal } from './domain/access/principal.js'
export type { RunError } from './domain/messages/run.js'
export type { MessageRun, RunEndReason } from './domain/messages/past-run.js'
export type { RunUsage } from './domain/operations/usage.js'
export { ATTEMPT_CLASSES, COUNTED, RESPONSE_TIMES_MS } from './domain/operations/counts.js'
export type { BucketLevel, SendLimit, SendLimits } from './domain/access/send-limit.js'
export type { CircuitState, WebhookHealthPolicy } from './domain/webhooks/webhook-health.js'
export { circuitAt } from './domain/webhooks/webhook-health.js'
export type {
  ReadWebhook,
  Webhook,
  WebhookChanges,
  WebhookSettings,
} from './domain/webhooks/webhook.js'
export type { HookOfMessage } from './domain/messages/message-hook.js'
export type {
  JsonScalar,
  MetadataCondition,
  WebhookFilter,
} from './domain/webhooks/webhook-filter.js'
export type { WebhookLimit } from './domain/webhooks/webhook-limit.js'
export { MasterKeyError } from './maintenance/master-key.js'
export type { LinkedInput } from './messages/answer-by-link.js'
export type { FoundMessage, SearchMessagesInput } from './messages/read-messages.js'
export type { HookInput, SetHookInput } from './messages/message-hooks.js'
export type { SendInput } from './messages/draft-message.js'
export type { SendingKey } from './messages/earlier-reads.js'
export type { SendError, Sent } from './messages/send-message.js'
export type { StreamEvent } from './messages/stream/stream-cursor.js'
export type { AnswerStream } from './messages/stream/stream-feed.js'
export type { PrincipalTraces } from './operations/erase-principal.js'
export type { RecoverySettings } from './domain/webhooks/recovery.js'
export type { CreatedPortal } from './operations/manage-portals.js'
export type { CreateSessionTokenInput, SessionToken } from './messages/session-token.js'
export type { CreatedKey } from './operations/manage-credentials.js'
export type { Pass } from './operations/pass.js'
export type { AllCounts, ProjectStats, ReadStatsInput, StatsRow } from './operations/read-stats.js'
export type { PeopleCount } from './maintenance/people.js'
export { STATS_STEPS, type StatsStep } from './operations/read-stats.js'
export type { Backlog } from './operations/read-backlog.js'
export type {
  AgentHealthPolicy,
  DeliverPolicy,
  DisabledBacklogPolicy,
  Policy,
  QuotaPolicy,
  RetentionPolicy,
  StreamPolicy,
} from './policy.js'
export { defaultPolicy, policyOf, type PolicyInput } from './policy.js'
export {
  PORTAL_PERMISSIONS,
  type PortalPermission,
  type PortalSession,
  type PortalSettings,
} from './domain/access/portal.js'
export type { AuditFilter } from './ports/audit-store.js'
export type { Project } from './ports/credential-store.js'
export type { NoAnswer, ServiceError } from './errors.js'
export type { DeliveryDetail, DeliveryFilter } from './ports/delivery-store.js'
export type { Recovery, RecoveryTask } from './ports/recovery-store.js'
export type { SessionSummary } from './ports/message-store.js'
export type { Page, PageOf, Unavailable } from './ports/stored.js'
export type { Ask, AskOptions } from './runtimes/asking.js'
export type { AgentFunction, FunctionRuntimeOptions } from './runtimes/function-runtime.js'
export { functionRuntime } from './runtimes/function-runtime.js'
export type { HostCalls, RuntimeKind } from './host-calls.js'
export type { EndpointService, MessagingService } from './messaging-service.js'
export type { ServiceOptions } from './service.js'
export { createService } from './service.js'
export type { EventHandler, ListenInput } from './webhooks/event-listener.js'
export type { Listening } from './webhooks/event-listeners.js'
export type {
  EventOfLog,
  EventsOfLog,
  ReadEventsError,
  ReadEventsInput,
} from './webhooks/read-events.js'
export type { CreateWebhookError, CreatedWebhook } from './webhooks/manage-webhooks.js'
export type { Answer } from './answer.js'
export { MessagingError } from './throwing.js'
export type {
  OpenInput,
  SentMessage,
  ShownInput,
  ShownMessage,
} from './domain/messages/shown-message.js'
