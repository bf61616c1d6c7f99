// Unstable until 1.0: a minor release can change this entry.

export { isInScope, type SessionScope } from '../domain/access/access.js'
export { NO_PROJECT } from '../domain/access/api-key.js'
export { isAuditedChange } from '../domain/access/audit.js'
export { auditedChange, NO_ROW, type AuditedRow } from '../domain/access/audited-change.js'
export { canOpen, type PortalSession } from '../domain/access/portal.js'
export {
  endUserMark,
  isEndUser,
  type DefaultExecutionPrincipal,
} from '../domain/access/principal.js'
export {
  hasLimits,
  takenMicros,
  takeTokens,
  type BucketLevel,
  type SendLimits,
  type TokenTake,
} from '../domain/access/send-limit.js'
export { mayChangeRuntime, type AgentState } from '../domain/agents/agent.js'
export { ClaimBudget } from '../domain/messages/claim-budget.js'
export { attemptCounts, holdsRun } from '../domain/messages/fencing.js'
export {
  newDeliveryClaim,
  newMessageClaim,
  newTestClaim,
  NO_CLAIMS,
} from '../domain/messages/first-claim.js'
export { newestThatFit, turnsOf } from '../domain/messages/history.js'
export {
  deadlineCursor,
  deadlinePlace,
  type DeadlinePlace,
} from '../domain/messages/deadline-order.js'
export { deadlineOf, isAsking, openInput } from '../domain/messages/input-decisions.js'
export {
  decideHook,
  HOOK_EVENTS,
  hookGets,
  isHook,
  isTaskHook,
  sharedReceiver,
  type HookOfMessage,
  type TaskHook,
} from '../domain/messages/message-hook.js'
export type { MessageInput } from '../domain/messages/message-input.js'
export { subscribesTo, subscriptionsFor, widestOf } from '../domain/webhooks/event-name.js'
export {
  allowedAttempts,
  canReturn,
  claimedAttempt,
  isExhausted,
  isFinal,
  isRetryable,
  type AfterRun,
  type AskingState,
  type DeferredState,
  type MessageState,
  type MessageStateKind,
} from '../domain/messages/message.js'
export { interruptedRun, runsOf, type PastRun } from '../domain/messages/past-run.js'
export { openDeliveries, type DueDeliveries, type OpenQueue } from '../domain/operations/backlog.js'
export {
  afterJump,
  decideMove,
  MIN_JUMP_MS,
  type ClockJump,
  type JumpReport,
  type Move,
  type MoveResult,
} from '../domain/operations/clock-jump.js'
export {
  COUNT_STEPS,
  DAY_MS,
  keyOfCounts,
  rowsOfCounts,
  rowsOfPeople,
  startOf,
  countOfPublish,
  sumOfCounts,
  withPeople,
  type Count,
  type CountRow,
  type Counts,
} from '../domain/operations/counts.js'
export { toIso } from '../domain/values/instant.js'
export type { Sealed } from '../domain/values/sealed.js'
export { orderKeyOf } from '../domain/webhooks/delivery-order.js'
export { ownBody } from '../domain/webhooks/own-body.js'
export {
  decideRedelivery,
  hasStatus,
  keepsOrder,
  type AfterAttempt,
  type CancelReason,
  type DeliveryAttempt,
  type DeliveryFilterStatus,
  type DeliveryState,
  type DeliveryStatus,
  type LastFailure,
  type OperatorReason,
  type SendingDelivery,
} from '../domain/webhooks/delivery.js'
export { publishedColumns } from './event-row.js'
export { freezeEvent, type PublishRequest, type WebhookEvent } from '../domain/webhooks/event.js'
export { isForEndUser, type OfPerson } from '../domain/webhooks/event-person.js'
export {
  decidePublish,
  MOST_DELIVERIES,
  publishedEvent,
  type SameId,
} from '../domain/webhooks/published-event.js'
export { isAnotherEvent, markOf } from '../domain/webhooks/log-cursor.js'
export {
  countedAs,
  decidedRecovery,
  isAskedFor,
  isReplayed,
  recoveryAfterPage,
  recoveryState,
  replayedEvent,
  type ReplayedRow,
  RETRY_PAUSE_MS,
  triedState,
  tryPage,
  type Tries,
  type RecoveryCounts,
  type RecoveryDecision,
  type ResponseClass,
} from '../domain/webhooks/recovery.js'
export { leaseEnd, type LeaseTerms, type SendingSettings } from '../domain/webhooks/sending.js'
export {
  INSTALLATION,
  listedType,
  type EventType,
  type ListedEventType,
} from '../domain/webhooks/event-type.js'
export { matchesFilter } from '../domain/webhooks/webhook-filter.js'
export {
  heldByProbe,
  readyToProbe,
  untried,
  type Circuit,
  type WebhookHealth,
} from '../domain/webhooks/webhook-health.js'
export {
  changeWebhook,
  receiverIdOf,
  type DisabledReason,
  type WebhookChange,
} from '../domain/webhooks/webhook.js'
export type { AgentChange, AgentStore, OwnRequest, StateChange } from '../ports/agent-store.js'
export type { AuditFilter, AuditStore } from '../ports/audit-store.js'
export {
  MAX_RELAYED_LENGTH,
  type ChunkQuestion,
  type ChunkRelay,
  type RelayedChunk,
  type RelayedRun,
  type RelayNote,
} from '../ports/chunk-relay.js'
export type {
  CountsQuery,
  CountsStore,
  PeopleMove,
  PeoplePage,
  PeoplePlace,
  PeopleQuery,
  PurgeCounts,
} from '../ports/counts-store.js'
export {
  ENDED_SIGN_IN,
  type CredentialStore,
  type ProjectChange,
  type SignIn,
} from '../ports/credential-store.js'
export type {
  AttemptRecord,
  CancelStale,
  ClaimDue,
  ClaimedDeliveries,
  Published,
  ClaimedDelivery,
  DeliveriesOfMessages,
  DeliveryBacklog,
  DeliveryFilter,
  DeliveryPurge,
  DeliveryStore,
  ErasedDeliveries,
  HeldDelivery,
  MessageDelivery,
  Outgoing,
  RecordedAttempt,
  Redelivered,
  RedeliverFilter,
  ReleasedClaim,
  SenderLease,
  WebhookUpdate,
} from '../ports/delivery-store.js'
export type {
  ErasedEvents,
  EventPage,
  EventPurge,
  Publication,
  PublishOutcome,
  SessionEvents,
  StoredEvent,
  EventsAfter,
  EventsBefore,
  EventStore,
  EventTail,
  ListedEvent,
  NewestEvents,
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
  ClaimedMessage,
  ClaimRunnable,
  Deferral,
  ErasedMessages,
  FreeSlots,
  HeldRun,
  HistoryOf,
  InputChange,
  InputChanged,
  InScope,
  MessageBacklog,
  MessageErasure,
  MessageFilter,
  MessageRef,
  MessageSearch,
  QuestionsOf,
  MessageStore,
  MetadataChange,
  NewMessage,
  PurgedMessages,
  RecordedRun,
  Retried,
  Retry,
  RunRecord,
  SessionErasure,
  Sweep,
  SessionMemory,
  SessionsOf,
} from '../ports/message-store.js'
export type { EventTypeStore } from '../ports/event-type-store.js'
export type { PortalStore } from '../ports/portal-store.js'
export type {
  RecoveryStep,
  RecoveryStore,
  RecoveryTask,
  Settlement,
} from '../ports/recovery-store.js'
export type { ResponseSignal } from '../ports/response-signal.js'
export type { AcceptStores, HostTransaction, Storage, TakenOver } from '../ports/storage.js'
export {
  CALLER_LEFT,
  CLOSED,
  type Audited,
  type Caller,
  type Lease,
  type PageOf,
  type PrincipalStep,
  type Purge,
  type ResealedRows,
  type ResealStep,
  type Stored,
} from '../ports/stored.js'
export type { HookSet, WebhookStore } from '../ports/webhook-store.js'
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
export { assignments, columnOf, insertList, selectList } from './columns.js'
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
export {
  EVENT_TYPE_COLUMNS,
  eventTypeColumns,
  LISTED_TYPE_COLUMNS,
  oncePerName,
  toEventType,
  toListedType,
  type EventTypeRow,
  type ListedTypeRow,
} from './event-type-row.js'
export { LeaseTable, threadKeeper, type SharedLeases } from './lease-table.js'
export { messageBounds, type CursorPlace, type MessageBounds } from './message-bounds.js'
export { changeConditions } from './message-conditions.js'
export {
  inputsColumn,
  isWaitingFor,
  MESSAGE_COLUMNS,
  MESSAGE_SESSION_COLUMNS,
  MESSAGE_STATE,
  messageOf,
  messageStateColumns,
  requestColumn,
  toMessage,
  type MessageFacts,
  type MessageRow,
  type MessageStateColumns,
} from './message-row.js'
export {
  matchesFields,
  matchesSearch,
  MOST_TEXT_BYTES,
  searchPath,
  type SearchPath,
} from './message-search.js'
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
export { PARTS_COLUMNS, partsRow, toParts, type PartsRow } from './parts-row.js'
export { PORTAL_COLUMNS, portalColumns, toPortalSession, type PortalRow } from './portal-row.js'
export { limitsColumn, toProject, type ProjectRow } from './project-row.js'
export {
  finishedAtOf,
  RECOVERY_COLUMNS,
  RECOVERY_UPDATE,
  recoveryColumns,
  toRecovery,
  toRecoveryTask,
  type CountedRecoveryRow,
  type RecoveryRow,
} from './recovery-row.js'
export { resealRows, toPage, toTrace, traceColumn } from './rows.js'
export {
  onlySuccess,
  toWebhook,
  WEBHOOK_COLUMNS,
  WEBHOOK_HEALTH,
  WEBHOOK_UPDATE,
  webhookColumns,
  type WebhookColumns,
  type WebhookRow,
} from './webhook-row.js'
