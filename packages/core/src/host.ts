/** For authors of an HTTP adapter, an endpoint or a console in front of the service. */
export type { CreateAgentError, CreatedAgent } from './agents/create-agent.js'
export type { Answer, ErrorOf } from './answer.js'
export {
  accessProblem,
  actorOf,
  keepsAccess,
  mayCall,
  type ByAccess,
} from './domain/access/access.js'
export {
  apiKeySettings,
  isBootstrapKey,
  isMistyped,
  isSessionToken,
  nameSetting,
  newApiKey,
  platformKeySettings,
  type ApiKeySettings,
  type PlatformKeySettings,
} from './domain/access/api-key.js'
export {
  ACTOR_KINDS,
  AUDIT_ACTIONS,
  type AuditAction,
  type ByActor,
} from './domain/access/audit.js'
export { changeTexts } from './domain/access/audited-change.js'
export {
  isPermitted,
  isRead,
  permissionsFor,
  PLATFORM_PERMISSIONS,
  ROLE_NAMES,
  roleOf,
  ROLES,
  type CallName,
  type PlatformPermission,
  type Role,
} from './domain/access/permission.js'
export {
  PORTAL_PERMISSIONS,
  portalSettings,
  type PortalPermission,
  type PortalSettings,
} from './domain/access/portal.js'
export { isExternalId, projectSettings, type ProjectSettings } from './domain/access/project.js'
export {
  eventLimitSettings,
  sendLimitSettings,
  type EventLimit,
  type SendLimit,
} from './domain/access/send-limit.js'
export type { A2aSetting, A2aSkill } from './domain/agents/a2a-card.js'
export {
  AGENT_STATES,
  agentDefaults,
  agentSettings,
  isAgentName,
  onBusyOf,
  type FailedAgent,
  type OnBusy,
} from './domain/agents/agent.js'
export {
  answerFields,
  answerOfForm,
  type AnswerField,
  type FormTexts,
} from './domain/messages/answer-form.js'
export { answerProblem, inputFacts } from './domain/messages/message-input.js'
export {
  changedAt,
  defaultDispatchPolicy,
  errorOf,
  isSettled,
  MESSAGE_STATES,
  progressOf,
  statusOf,
  type DispatchPolicy,
  type MessageProgress,
} from './domain/messages/message.js'
export { RUN_END_REASONS, type RunEndReason } from './domain/messages/past-run.js'
export {
  shownMessage,
  shownSend,
  type OpenInput,
  type ShownInput,
} from './domain/messages/shown-message.js'
export {
  missingStory,
  STORY_CAUSES,
  type Story,
  type StoryCause,
  type StoryPart,
} from './domain/messages/story.js'
export { HOLD_CAUSES, type HoldCause } from './domain/operations/backlog.js'
export {
  ATTEMPT_CLASSES,
  COUNT_NAMES,
  COUNTED,
  RESPONSE_TIMES_MS,
} from './domain/operations/counts.js'
export { FAILURE_REASONS } from './domain/operations/failures.js'
export { csvRecord } from './domain/values/csv.js'
export type { Issue } from './domain/values/input-rules.js'
export {
  DAY_RULE,
  dayIn,
  INSTANT_RULE,
  instantOf,
  withIso,
  type WithIso,
} from './domain/values/instant.js'
export { MAX_SEARCHED_TEXT, type Limits } from './domain/values/limits.js'
export { badFirst } from './domain/values/page-rules.js'
export { settingsIn, valueRule, type Setting, type Settings } from './domain/values/setting.js'
export {
  cutAnswer,
  DELIVERY_STATUSES,
  deliveryStatusOf,
  type RetryPolicy,
} from './domain/webhooks/delivery.js'
export {
  DEFINERS,
  eventTypeSettings,
  type EventTypeSettings,
} from './domain/webhooks/event-type.js'
export { LOGGED_EVENTS } from './domain/webhooks/event.js'
export {
  EVENT_TYPE_PATTERN,
  eventNameRule,
  MAX_EVENT_TYPE,
  PUBLISHED_PATTERN,
  SUBSCRIPTION_PATTERN,
  subscriptionRule,
} from './domain/webhooks/event-name.js'
export { MAX_EVENT_ID, MOST_PUBLISHED } from './domain/webhooks/published-event.js'
export { eventSummaries, sampleEvent } from './domain/webhooks/event-samples.js'
export {
  RECOVERY_FAILURES,
  recoverySettings,
  replaySettings,
  retrySettings,
  type RecoverySettings,
  type ReplaySettings,
  type RetrySettings,
} from './domain/webhooks/recovery.js'
export { sendingSettings } from './domain/webhooks/sending.js'
export {
  filterLimits,
  filterRules,
  lineOf,
  type JsonScalar,
  type FilterCondition,
  type WebhookFilter,
} from './domain/webhooks/webhook-filter.js'
export {
  circuitAt,
  defaultWebhookHealthPolicy,
  type CircuitState,
  type WebhookHealthPolicy,
} from './domain/webhooks/webhook-health.js'
export type { WebhookLimit } from './domain/webhooks/webhook-limit.js'
export { HEADER_LIMITS, webhookSettings, type ReadWebhook } from './domain/webhooks/webhook.js'
export { entryFor, textOf, wordsOf, type ByKind, type ErrorWords } from './errors.js'
export type { HostCalls, RuntimeKind } from './host-calls.js'
export { masterKeyProblem, masterKeyProblemOfCopy, matchingKey } from './maintenance/master-key.js'
export type { LinkedInput } from './messages/answer-by-link.js'
export type { SendingKey } from './messages/earlier-reads.js'
export {
  inputPartSettings,
  MAX_INPUT_PARTS,
  type InputData,
  type InputFile,
} from './domain/messages/input-part.js'
export { sendWebhookSettings, type SendWebhook } from './domain/messages/message-hook.js'
export type { HookInput, SetHookInput } from './messages/message-hooks.js'
export type { SearchMessagesInput } from './messages/read-messages.js'
export type { SendError } from './messages/send-message.js'
export type { CreateSessionTokenInput, SessionToken } from './messages/session-token.js'
export type { EndpointService } from './messaging-service.js'
export type { PrincipalTraces } from './operations/erase-principal.js'
export type { CreatedKey } from './operations/manage-credentials.js'
export type { CreatedPlatformKey } from './operations/manage-credentials.js'
export type { CreatedPortal } from './operations/manage-portals.js'
export type { Pass } from './operations/pass.js'
export type { Backlog } from './operations/read-backlog.js'
export type { ProjectOverview } from './operations/read-projects.js'
export type { Failure, Failures } from './operations/read-failures.js'
export {
  STATS_STEPS,
  type AllCounts,
  type PeopleCount,
  type ReadStatsInput,
  type StatsRow,
  type StatsStep,
} from './operations/read-stats.js'
export {
  policyOf,
  type AgentHealthPolicy,
  type DeliverPolicy,
  type DisabledBacklogPolicy,
  type QuotaPolicy,
  type RetentionPolicy,
  type StreamPolicy,
} from './policy.js'
export { OVERLOAD, retrySecondsOf } from './ports/stored.js'
export { errorIn, inTurn, isRefusal, orUndefined, unless } from './throwing.js'
export type { CreateWebhookError } from './webhooks/manage-webhooks.js'
export type { EventOfLog, ReadEventsError, ReadEventsInput } from './webhooks/read-events.js'
export {
  shownAgent,
  shownCreatedAgent,
  type ShownAgent,
  type ShownCreatedAgent,
} from './shown/agents.js'
export {
  shownFailures,
  shownStats,
  shownUsage,
  type ShownFailures,
  type ShownStats,
  type ShownUsage,
} from './shown/counts.js'
export {
  shownDelivery,
  shownDeliveryDetail,
  type ShownAttempt,
  type ShownDelivery,
  type ShownDeliveryDetail,
} from './shown/deliveries.js'
export {
  shownEvent,
  shownEvents,
  shownListedEvent,
  type ShownEvent,
  type ShownEvents,
  type ShownListedEvent,
} from './shown/events.js'
export type { ListEventsInput } from './webhooks/read-events.js'
export type { EventStory } from './webhooks/read-receivers.js'
export { shownCreatedKey, shownKey, type ShownCreatedKey, type ShownKey } from './shown/keys.js'
export {
  shownFoundMessage,
  shownStory,
  shownStreamEvent,
  type ShownFoundMessage,
  type ShownStreamEvent,
} from './shown/messages.js'
export { shownPage, type ShownPage } from './shown/pages.js'
export { shownRecovery, type ShownRecovery } from './shown/recoveries.js'
export {
  shownCreatedWebhook,
  shownWebhook,
  type ShownCreatedWebhook,
  type ShownWebhook,
  type WebhookView,
} from './shown/webhooks.js'
