export { noTracing } from './pacing/no-tracing.js'
export { TurnQueue } from './pacing/turn-queue.js'
export type { ErrorOf } from './answer.js'
export { errorIn, isRefusal, orUndefined, unless } from './throwing.js'
export { entryFor, textOf, wordsOf, type ByKind, type ErrorWords } from './errors.js'
export { OVERLOAD, retrySecondsOf } from './ports/stored.js'
export type { AgentState, FailedAgent } from './domain/agents/agent.js'
export { AGENT_STATES } from './domain/agents/agent.js'
export {
  accessProblem,
  actorOf,
  isScoped,
  mayCall,
  seesAgent,
  seesSession,
} from './domain/access/access.js'
export { apiKeySettings, nameSetting } from './domain/access/api-key.js'
export { portalSettings } from './domain/access/portal.js'
export { sendLimitSettings } from './domain/access/send-limit.js'
export { recoverySettings } from './domain/webhooks/recovery.js'
export { filterLimits } from './domain/webhooks/webhook-filter.js'
export { agentDefaults, agentSettings, isAgentName, onBusyOf } from './domain/agents/agent.js'
export { isBootstrapKey, isMistyped, isSessionToken, newApiKey } from './domain/access/api-key.js'
export type { CustomHeaderRules, CustomHeaders } from './domain/webhooks/custom-headers.js'
export {
  customHeadersProblem,
  customHeadersSchema,
  withCustomHeaders,
} from './domain/webhooks/custom-headers.js'
export type { CancelReason, DeliveryState, Outcome } from './domain/webhooks/delivery.js'
export { UNREACHABLE_ERRORS, type UnreachableError } from './domain/values/unreachable-error.js'
export type { EventData, EventPayload, SubscribableEvent } from './domain/webhooks/event.js'
export type { EarlierTurn, HistoryLimit, Turn } from './domain/messages/history.js'
export { isUuid, orMissing } from './domain/values/input-rules.js'
export { toIso } from './domain/values/instant.js'
export { shownMessage, shownSend } from './domain/messages/shown-message.js'
export { given } from './domain/values/given.js'
export type { Json, JsonObject } from './domain/values/json.js'
export { answerFields, answerOfForm, type AnswerField } from './domain/messages/answer-form.js'
export { openInput } from './domain/messages/input-decisions.js'
export type {
  AnsweredInput,
  AskingRun,
  MessageInput,
  Question,
} from './domain/messages/message-input.js'
export {
  answerProblem,
  inputFacts,
  isSameQuestion,
  parseQuestion,
} from './domain/messages/message-input.js'
export {
  beginningOf,
  canonicalJson,
  isJsonObject,
  isLonger,
  isStorableText,
} from './domain/values/json.js'
export {
  bodyTextLimits,
  bodyTextRule,
  jsonTextLimits,
  jsonTextProblem,
  jsonTextRule,
  parseJsonText,
} from './domain/values/json-text.js'
export { nearestName, unknownFields, withNearest } from './domain/values/nearest-name.js'
export { defaultLimits, MAX_SEARCHED_TEXT } from './domain/values/limits.js'
export type { MessageProgress, MessageState, MessageStateKind } from './domain/messages/message.js'
export {
  changedAt,
  defaultDispatchPolicy,
  isRetryable,
  isSettled,
  MESSAGE_STATES,
  progressOf,
} from './domain/messages/message.js'
export type { DefaultExecutionPrincipal } from './domain/access/principal.js'
export type { EndedRun, FinishedRun, RunError, RunOutcome } from './domain/messages/run.js'
export { RUN_END_REASONS } from './domain/messages/past-run.js'
export { failedRun, RUN_ERROR_CODES } from './domain/messages/run.js'
export { parseRunUsage, type RunUsage } from './domain/operations/usage.js'
export { ShortLivedMap } from './domain/values/short-lived-map.js'
export type { Hmac, SignedRequest } from './domain/webhooks/signature.js'
export { isSecret, newSecret, signatureHeaders } from './domain/webhooks/signature.js'
export { defaultWebhookHealthPolicy } from './domain/webhooks/webhook-health.js'
export { masterKeyProblem, masterKeyProblemOfCopy, matchingKey } from './maintenance/master-key.js'
export { sendingSettings } from './domain/webhooks/sending.js'
export type { Setting, Settings } from './domain/values/setting.js'
export { settingsIn, valueRule } from './domain/values/setting.js'
export type { DisabledReason } from './domain/webhooks/webhook.js'
export { HEADER_LIMITS, webhookSecretContext, webhookSettings } from './domain/webhooks/webhook.js'
export type { AttemptPolicy } from './policy.js'
export type {
  AgentRuntime,
  OnExit,
  ParsedOptions,
  RunRequest,
  RunningAgent,
  RuntimeAgent,
  RuntimeOptionsSchema,
} from './ports/agent-runtime.js'
export type { AttemptMaker, AttemptOrder, MadeAttempt } from './ports/attempt-maker.js'
export type { Clock, Crypto, Ids, Random } from './ports/platform.js'
export { failure, success, type PortResult } from './ports/port-result.js'
export { levelOfFact, type Fact, type Telemetry } from './ports/telemetry.js'
export type { ActiveSpan, SpanDetails, SpanStart, Tracing } from './ports/tracing.js'
export type { TraceContext } from './domain/messages/trace.js'
export type { SendRequest, WebhookSender } from './ports/webhook-sender.js'
export type { AttemptMakerOptions } from './webhooks/attempt-maker.js'
export { attemptMaker } from './webhooks/attempt-maker.js'
export { isMissing, needsPackage } from './runtimes/missing-package.js'
export {
  agentHeadersProblem,
  parseRemoteOptions,
  remoteOptions,
  remoteOptionsSchema,
  unknownOption,
} from './runtimes/remote-options.js'
