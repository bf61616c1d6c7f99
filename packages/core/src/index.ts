export type { Agent, AgentRuntimeConfig, AgentState, FailedAgent, OnBusy } from './domain/agent.js'
export { agentDefaults, isAgentName, isUuid, mayChangeRuntime, onBusyOf } from './domain/agent.js'
export type { ApiKey, Permission } from './domain/api-key.js'
export { isBootstrapKey, isMistyped, newApiKey, PERMISSIONS } from './domain/api-key.js'
export type { CustomHeaderRules, CustomHeaders } from './domain/custom-headers.js'
export { customHeadersProblem, withCustomHeaders } from './domain/custom-headers.js'
export type {
  AfterAttempt,
  CancelReason,
  DeliveryAttempt,
  DeliveryState,
  DeliveryStatus,
  Outcome,
  RetryPolicy,
  SendingDelivery,
  UnreachableError,
  WebhookDelivery,
} from './domain/delivery.js'
export { decideNextState, decideRedelivery, deliveryStatusOf } from './domain/delivery.js'
export type { EventName, EventPayload, SubscribableEvent, WebhookEvent } from './domain/event.js'
export { EVENT_NAMES, freezeEvent, isForEndUser } from './domain/event.js'
export { fail } from './domain/fail.js'
export type { HistoryLimit, Turn } from './domain/history.js'
export { newestThatFit } from './domain/history.js'
export type { Instant } from './domain/instant.js'
export { toIso } from './domain/instant.js'
export type { Json, JsonObject } from './domain/json.js'
export { beginningOf, isJsonObject, isStorableText } from './domain/json.js'
export type { Limits } from './domain/limits.js'
export { defaultLimits } from './domain/limits.js'
export type {
  AfterRun,
  CancelledState,
  DeferredState,
  DispatchPolicy,
  Message,
  MessageState,
  MessageStateKind,
  RunningMessage,
} from './domain/message.js'
export {
  decideAfterRun,
  defaultDispatchPolicy,
  errorOf,
  isFinal,
  isRetryable,
  statusOf,
} from './domain/message.js'
export type {
  DefaultExecutionPrincipal,
  ExecutionPrincipal,
  Principal,
  PrincipalError,
} from './domain/principal.js'
export { endUserMark, resolvePrincipal } from './domain/principal.js'
export type { FinishedRun, RunError, RunOutcome } from './domain/run.js'
export { failedRun } from './domain/run.js'
export type { Reseal, Sealed } from './domain/sealed.js'
export type { Hmac, SignedRequest } from './domain/signature.js'
export { isSecret, newSecret, signatureHeaders } from './domain/signature.js'
export type { TraceContext } from './domain/trace.js'
export type { DisabledReason, Webhook, WebhookChange } from './domain/webhook.js'
export { changeWebhook, webhookSecretContext } from './domain/webhook.js'
export type {
  Circuit,
  CircuitState,
  WebhookHealth,
  WebhookHealthPolicy,
} from './domain/webhook-health.js'
export {
  circuitAt,
  decideWebhookHealth,
  defaultWebhookHealthPolicy,
} from './domain/webhook-health.js'
export type { ActivityQuery, AttemptCount, MessageCount } from './ports/activity.js'
export type {
  AgentRuntime,
  OnExit,
  ParsedOptions,
  RunningAgent,
  RunRequest,
  RuntimeAgent,
} from './ports/agent-runtime.js'
export type { AgentChange, AgentStore, OwnRequest, StateChange } from './ports/agent-store.js'
export type { AttemptMaker, AttemptOrder, MadeAttempt } from './ports/attempt-maker.js'
export type { CredentialStore, Project, SignIn } from './ports/credential-store.js'
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
  GivenUp,
  HeldDelivery,
  Outgoing,
  RecordedAttempt,
  Redelivered,
  RedeliverFilter,
  ResponseClass,
  Verdict,
} from './ports/delivery-store.js'
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
  SessionsOf,
  SessionSummary,
} from './ports/message-store.js'
export type { Pacemaker } from './ports/pacemaker.js'
export type { Clock, Crypto, Ids, Random } from './ports/platform.js'
export type { ResponseSignal } from './ports/response-signal.js'
export type {
  Lease,
  Page,
  PageOf,
  PrincipalStep,
  Purge,
  ResealedRows,
  ResealStep,
  Storage,
  Stored,
  Unavailable,
} from './ports/storage.js'
export type { Fact, Telemetry } from './ports/telemetry.js'
export type { SendRequest, WebhookSender } from './ports/webhook-sender.js'
export type { SecretRotation, WebhookStore } from './ports/webhook-store.js'
export type { WaitingWork, WorkSignal } from './ports/work-signal.js'
export type { AgentFunction, FunctionRuntimeOptions } from './runtimes/function-runtime.js'
export { functionRuntime } from './runtimes/function-runtime.js'
export type { MessagingService, ServiceOptions } from './service.js'
export { createService, defaultPolicy } from './service.js'
export type { AnswerError, AnswerInput } from './use-cases/answer-run.js'
export type {
  AgentChanges,
  AgentSettings,
  CreateAgentError,
  CreateAgentInput,
  CreatedAgent,
} from './use-cases/create-agent.js'
export type {
  AgentHealthPolicy,
  AttemptPolicy,
  DeliverPolicy,
  DisabledBacklogPolicy,
  Policy,
  RetentionPolicy,
  StreamPolicy,
} from './use-cases/deps.js'
export type { Invalid, Issue } from './use-cases/invalid.js'
export type {
  AgentRef,
  DeleteAgentInput,
  UpdateAgentError,
  UpdateAgentInput,
} from './use-cases/manage-agents.js'
export type { CreatedKey, CreateKeyError, CreateKeyInput } from './use-cases/manage-credentials.js'
export type {
  CreatedWebhook,
  CreateWebhookError,
  CreateWebhookInput,
  UpdateWebhookInput,
  WebhookChanges,
  WebhookRef,
  WebhookSettings,
} from './use-cases/manage-webhooks.js'
export type { DeliveryRef, RecoverInput } from './use-cases/manage-deliveries.js'
export type { Activity, ReadActivityInput } from './use-cases/read-activity.js'
export type { Backlog } from './use-cases/read-backlog.js'
export type {
  GetMessageError,
  GetMessageInput,
  ListMessagesInput,
} from './use-cases/read-messages.js'
export type {
  CountPrincipalInput,
  ErasePrincipalInput,
  PrincipalTraces,
} from './use-cases/erase-principal.js'
export type { ResealedSecrets, ResealPlace } from './use-cases/reseal-secrets.js'
export type {
  EraseSessionError,
  EraseSessionInput,
  ListSessionsInput,
} from './use-cases/manage-sessions.js'
export type { CancelMessageError, RetryMessageError } from './use-cases/change-messages.js'
export type { StreamMessageError, StreamMessageInput } from './use-cases/stream-message.js'
export type { AcceptStores, SendError, SendInput, Sent } from './use-cases/send-message.js'
export { attemptMaker, type AttemptMakerOptions } from './workers/attempt-maker.js'
export type { StreamEvent } from './workers/stream-reader.js'
export type { AnswerStream } from './workers/stream-seat.js'
export type { Pass } from './workers/pass.js'
