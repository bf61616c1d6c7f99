// Unstable until 1.0: a minor release can change this entry.

export type { Agent, AgentState } from '../domain/agents/agent.js'
export { changeConditions } from './message-conditions.js'
export { mayChangeRuntime } from '../domain/agents/agent.js'
export { isInScope, type SessionScope } from '../domain/access/access.js'
export { isAuditedChange, type AuditEntry } from '../domain/access/audit.js'
export type { ApiKey } from '../domain/access/api-key.js'
export type { ClockJump, JumpReport, Move, MoveResult } from '../domain/operations/clock-jump.js'
export { afterJump, decideMove, MIN_JUMP_MS } from '../domain/operations/clock-jump.js'
export type {
  AfterAttempt,
  CancelReason,
  DeliveryAttempt,
  DeliveryState,
  DeliveryStatus,
  OperatorReason,
  SendingDelivery,
  WebhookDelivery,
} from '../domain/webhooks/delivery.js'
export { decideRedelivery, keepsOrder } from '../domain/webhooks/delivery.js'
export type { LastFailure } from '../domain/webhooks/delivery.js'
export { orderKeyOf } from '../domain/webhooks/delivery-order.js'
export { openDeliveries, type DueDeliveries, type OpenQueue } from '../domain/operations/backlog.js'
export { ClaimBudget } from '../domain/messages/claim-budget.js'
export { attemptCounts, holdsRun } from '../domain/messages/fencing.js'
export { newDeliveryClaim, newMessageClaim, NO_CLAIMS } from '../domain/messages/first-claim.js'
export { leaseEnd, type LeaseTerms, type SendingSettings } from '../domain/webhooks/sending.js'
export type { EventName, WebhookEvent } from '../domain/webhooks/event.js'
export { freezeEvent, isForEndUser } from '../domain/webhooks/event.js'
export type { EarlierTurn, Turn } from '../domain/messages/history.js'
export { newestThatFit, turnsOf } from '../domain/messages/history.js'
export type { Instant } from '../domain/values/instant.js'
export { toIso } from '../domain/values/instant.js'
export type { JsonObject } from '../domain/values/json.js'
export { isAnotherEvent, markOf } from '../domain/webhooks/log-cursor.js'
export { openInput } from '../domain/messages/input-decisions.js'
export type { MessageInput } from '../domain/messages/message-input.js'
export type {
  AfterRun,
  AskingState,
  DeferredState,
  Message,
  MessageState,
  MessageStateKind,
} from '../domain/messages/message.js'
export {
  allowedAttempts,
  canReturn,
  claimedAttempt,
  isExhausted,
  isFinal,
  isRetryable,
} from '../domain/messages/message.js'
export type { DefaultExecutionPrincipal, ExecutionPrincipal } from '../domain/access/principal.js'
export { endUserMark, isEndUser } from '../domain/access/principal.js'
export {
  interruptedRun,
  runsOf,
  type MessageRun,
  type PastRun,
} from '../domain/messages/past-run.js'
export type { RunError } from '../domain/messages/run.js'
export {
  recoveryAfterPage,
  recoveryState,
  type RecoveryCounts,
  type ResponseClass,
} from '../domain/webhooks/recovery.js'
export { ShortLivedMap } from '../domain/values/short-lived-map.js'
export type { Sealed } from '../domain/values/sealed.js'
export type { TraceContext } from '../domain/messages/trace.js'
export {
  hasLimits,
  takeTokens,
  tokenMicros,
  type BucketLevel,
  type SendLimits,
  type TokenTake,
} from '../domain/access/send-limit.js'
export {
  COUNT_STEPS,
  DAY_MS,
  dayOf,
  keyOfCounts,
  rowsOfCounts,
  startOf,
  sumOfCounts,
  withPeople,
  type Count,
  type CountRow,
  type Counts,
} from '../domain/operations/counts.js'
export type { Circuit, WebhookHealth } from '../domain/webhooks/webhook-health.js'
export { heldByProbe, readyToProbe, untried } from '../domain/webhooks/webhook-health.js'
export type { DisabledReason, Webhook, WebhookChange } from '../domain/webhooks/webhook.js'
export { changeWebhook } from '../domain/webhooks/webhook.js'
export {
  decideHook,
  HOOK_EVENTS,
  hookGets,
  isHook,
  type HookOfMessage,
} from '../domain/messages/message-hook.js'
export { matchesFilter } from '../domain/webhooks/webhook-filter.js'
export type { AgentChange, AgentStore, OwnRequest, StateChange } from '../ports/agent-store.js'
export type { AuditFilter, AuditStore } from '../ports/audit-store.js'
export type { PortalStore } from '../ports/portal-store.js'
export { canOpen, type PortalSession } from '../domain/access/portal.js'
export { limitsColumn, toProject, type ProjectRow } from './project-row.js'
export { ENDED_SIGN_IN } from '../ports/credential-store.js'
export type { CredentialStore, Project, ProjectChange, SignIn } from '../ports/credential-store.js'
export type {
  AttemptRecord,
  CancelStale,
  ClaimDue,
  ClaimedDeliveries,
  ClaimedDelivery,
  DeliveriesOfMessages,
  DeliveryBacklog,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryPurge,
  DeliveryStore,
  ErasedDeliveries,
  HeldDelivery,
  Outgoing,
  RecordedAttempt,
  RedeliverFilter,
  Redelivered,
  ReleasedClaim,
  SenderLease,
  WebhookUpdate,
  MessageDelivery,
} from '../ports/delivery-store.js'
export type {
  ErasedEvents,
  EventPage,
  EventPurge,
  EventsAfter,
  EventsBefore,
  EventStore,
  EventTail,
  ListenStep,
  LoggedEvent,
} from '../ports/event-store.js'
export type { LeaseKeeper } from '../ports/lease-keeper.js'
export type {
  Accepted,
  AfterInput,
  Asking,
  Cancellation,
  Cancelled,
  ClaimRunnable,
  ClaimedMessage,
  Deferral,
  ErasedMessages,
  PurgedMessages,
  HeldRun,
  HistoryOf,
  InScope,
  InputChange,
  InputChanged,
  FreeSlots,
  MessageBacklog,
  MessageErasure,
  MessageFilter,
  MessageSearch,
  MessageRef,
  MetadataChange,
  MessageStore,
  NewMessage,
  RecordedRun,
  Retried,
  Retry,
  RunRecord,
  SessionErasure,
  SessionMemory,
  SessionSummary,
  SessionsOf,
} from '../ports/message-store.js'
export { failure, success, type PortResult } from '../ports/port-result.js'
export type { Recovery, RecoveryStore, RecoveryTask } from '../ports/recovery-store.js'
export type { ResponseSignal } from '../ports/response-signal.js'
export type { AcceptStores, HostTransaction, Storage, TakenOver } from '../ports/storage.js'
export { CALLER_LEFT, CLOSED } from '../ports/stored.js'
export type {
  Audited,
  Caller,
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
export type {
  CountsQuery,
  CountsStore,
  PeopleMove,
  PeoplePage,
  PeoplePlace,
  PeopleQuery,
  PurgeCounts,
} from '../ports/counts-store.js'
export type { HookSet, WebhookStore } from '../ports/webhook-store.js'
export type {
  ChunkQuestion,
  ChunkRelay,
  RelayedChunk,
  RelayedRun,
  RelayNote,
} from '../ports/chunk-relay.js'
export { MAX_RELAYED_LENGTH } from '../ports/chunk-relay.js'
export type { WaitingWork, WorkSignal } from '../ports/work-signal.js'
export {
  AGENT_COLUMNS,
  AGENT_STATE,
  AGENT_UPDATE,
  agentColumns,
  agentStateColumns,
  toAgent,
  type AgentColumns,
  type AgentRow,
} from './agent-row.js'
export { API_KEY_COLUMNS, apiKeyColumns, toApiKey, type ApiKeyRow } from './api-key-row.js'
export {
  AUDIT_COLUMNS,
  auditColumns,
  auditConditions,
  toAuditEntry,
  type AuditRow,
} from './audit-row.js'
export { PORTAL_COLUMNS, portalColumns, toPortalSession, type PortalRow } from './portal-row.js'
export { assignments, insertList, selectList } from './columns.js'
export {
  afterAttemptColumns,
  DELIVERY_COLUMNS,
  headerLines,
  toAttempt,
  toDelivery,
  WAITING,
  type AttemptRow,
  type DeliveryRow,
} from './delivery-row.js'
export { LeaseTable, threadKeeper, type SharedLeases } from './lease-table.js'
export {
  matchesFields,
  matchesSearch,
  MOST_TEXT_BYTES,
  searchPath,
  type SearchPath,
} from './message-search.js'
export { messageBounds, type CursorPlace, type MessageBounds } from './message-bounds.js'
export {
  MESSAGE_COLUMNS,
  MESSAGE_SESSION_COLUMNS,
  MESSAGE_STATE,
  inputsColumn,
  isWaitingFor,
  messageOf,
  messageStateColumns,
  toMessage,
  type MessageFacts,
  type MessageRow,
  type MessageStateColumns,
} from './message-row.js'
export {
  claimedDelivery,
  claimedMessage,
  createdMessage,
  newClaimedDelivery,
  type ClaimedDeliveryRow,
} from './new-rows.js'
export {
  MOST_PAST_RUNS,
  PAST_RUN_COLUMNS,
  pastRunRow,
  toPastRun,
  type PastRunRow,
} from './past-run-row.js'
export {
  RECOVERY_COLUMNS,
  RECOVERY_UPDATE,
  finishedAtOf,
  recoveryColumns,
  toRecovery,
  toRecoveryTask,
  type CountedRecoveryRow,
  type RecoveryRow,
} from './recovery-row.js'
export { resealRows, toPage, toTrace, traceColumn } from './rows.js'
export {
  toWebhook,
  WEBHOOK_COLUMNS,
  WEBHOOK_UPDATE,
  webhookColumns,
  type WebhookColumns,
  type WebhookRow,
} from './webhook-row.js'
