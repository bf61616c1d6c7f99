export type { Agent, AgentState } from '../domain/agent.js'
export { mayChangeRuntime } from '../domain/agent.js'
export type { ApiKey } from '../domain/api-key.js'
export type {
  AfterAttempt,
  CancelReason,
  DeliveryAttempt,
  DeliveryState,
  DeliveryStatus,
  SendingDelivery,
  WebhookDelivery,
} from '../domain/delivery.js'
export { decideRedelivery } from '../domain/delivery.js'
export type { EventName, WebhookEvent } from '../domain/event.js'
export { freezeEvent, isForEndUser } from '../domain/event.js'
export type { Turn } from '../domain/history.js'
export { newestThatFit } from '../domain/history.js'
export type { Instant } from '../domain/instant.js'
export { toIso } from '../domain/instant.js'
export type { JsonObject } from '../domain/json.js'
export type { Message, MessageState, MessageStateKind } from '../domain/message.js'
export { isFinal, isRetryable } from '../domain/message.js'
export type { DefaultExecutionPrincipal, ExecutionPrincipal } from '../domain/principal.js'
export { endUserMark } from '../domain/principal.js'
export type { RunError } from '../domain/run.js'
export type { Sealed } from '../domain/sealed.js'
export type { TraceContext } from '../domain/trace.js'
export type { Circuit, WebhookHealth } from '../domain/webhook-health.js'
export type { DisabledReason, Webhook, WebhookChange } from '../domain/webhook.js'
export { changeWebhook } from '../domain/webhook.js'
export type { ActivityQuery, AttemptCount, MessageCount } from '../ports/activity.js'
export type { AgentChange, AgentStore, OwnRequest, StateChange } from '../ports/agent-store.js'
export type { CredentialStore, Project, SignIn } from '../ports/credential-store.js'
export type {
  AttemptRecord,
  CancelStale,
  ClaimDue,
  ClaimedDelivery,
  DeliveryBacklog,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryStore,
  ErasedDeliveries,
  HeldDelivery,
  Outgoing,
  RecordedAttempt,
  RedeliverFilter,
  Redelivered,
  ReleasedClaim,
  ResponseClass,
  WebhookUpdate,
} from '../ports/delivery-store.js'
export type { LeaseKeeper } from '../ports/lease-keeper.js'
export type {
  Accepted,
  Cancelled,
  ClaimedMessage,
  ErasedMessages,
  Held,
  HistoryOf,
  Lane,
  MessageBacklog,
  MessageFilter,
  MessageRef,
  MessageStore,
  NewMessage,
  RecordedRun,
  Retried,
  SessionSummary,
  SessionsOf,
} from '../ports/message-store.js'
export type { ResponseSignal } from '../ports/response-signal.js'
export type { AcceptStores, Storage } from '../ports/storage.js'
export type {
  Lease,
  Page,
  PageOf,
  PrincipalStep,
  Purge,
  ResealStep,
  ResealedRows,
  Stored,
  Unavailable,
} from '../ports/stored.js'
export type { SecretRotation, WebhookStore } from '../ports/webhook-store.js'
export type { WaitingWork, WorkSignal } from '../ports/work-signal.js'
