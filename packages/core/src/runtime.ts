export { noTracing } from './pacing/no-tracing.js'
export { TurnQueue } from './pacing/turn-queue.js'
export { entryFor, textOf, wordsOf, type ByKind, type ErrorWords } from './errors.js'
export { OVERLOAD, retrySecondsOf } from './ports/stored.js'
export type { AgentState, FailedAgent } from './domain/agent.js'
export { AGENT_STATES } from './domain/agent.js'
export { MAX_NAME } from './domain/api-key.js'
export { MAX_RETURN_URL, PORTAL_LIFETIME } from './domain/portal.js'
export { filterLimits } from './domain/webhook-filter.js'
export { agentDefaults, agentSettings, isAgentName, isUuid, onBusyOf } from './domain/agent.js'
export { isBootstrapKey, isMistyped, newApiKey } from './domain/api-key.js'
export type { CustomHeaderRules, CustomHeaders } from './domain/custom-headers.js'
export {
  customHeadersProblem,
  customHeadersSchema,
  withCustomHeaders,
} from './domain/custom-headers.js'
export type { CancelReason, DeliveryState, Outcome } from './domain/delivery.js'
export { UNREACHABLE_ERRORS, type UnreachableError } from './domain/unreachable-error.js'
export type { EventPayload, SubscribableEvent } from './domain/event.js'
export type { EarlierTurn, HistoryLimit, Turn } from './domain/history.js'
export { orMissing } from './domain/input-rules.js'
export { toIso } from './domain/instant.js'
export { given } from './domain/given.js'
export type { Json, JsonObject } from './domain/json.js'
export { answerFields, answerOfForm, type AnswerField } from './domain/answer-form.js'
export { openInput } from './domain/input-decisions.js'
export type { AnsweredInput, AskingRun, MessageInput, Question } from './domain/message-input.js'
export { answerProblem, inputFacts, isSameQuestion, parseQuestion } from './domain/message-input.js'
export {
  beginningOf,
  canonicalJson,
  isJsonObject,
  isLonger,
  isStorableText,
} from './domain/json.js'
export {
  bodyTextLimits,
  bodyTextRule,
  jsonTextLimits,
  jsonTextProblem,
  jsonTextRule,
  parseJsonText,
} from './domain/json-text.js'
export { nearestName, unknownFields, withNearest } from './domain/nearest-name.js'
export { defaultLimits, MAX_SEARCHED_TEXT } from './domain/limits.js'
export type { MessageProgress, MessageState, MessageStateKind } from './domain/message.js'
export {
  changedAt,
  defaultDispatchPolicy,
  isRetryable,
  isSettled,
  MESSAGE_STATES,
  progressOf,
} from './domain/message.js'
export type { DefaultExecutionPrincipal } from './domain/principal.js'
export type { EndedRun, FinishedRun, RunError, RunOutcome } from './domain/run.js'
export { RUN_END_REASONS } from './domain/past-run.js'
export { failedRun, RUN_ERROR_CODES } from './domain/run.js'
export { parseRunUsage, type RunUsage } from './domain/usage.js'
export { ShortLivedMap } from './domain/short-lived-map.js'
export type { Hmac, SignedRequest } from './domain/signature.js'
export { isSecret, newSecret, signatureHeaders } from './domain/signature.js'
export { defaultWebhookHealthPolicy } from './domain/webhook-health.js'
export { masterKeyProblem, masterKeyProblemOfCopy, matchingKey } from './maintenance/master-key.js'
export { sendingSettings } from './domain/sending.js'
export type { Setting, Settings } from './domain/setting.js'
export { settingsIn, valueRule } from './domain/setting.js'
export type { DisabledReason } from './domain/webhook.js'
export { HEADER_LIMITS, webhookSecretContext, webhookSettings } from './domain/webhook.js'
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
export { levelOfFact, type Fact, type Telemetry } from './ports/telemetry.js'
export type { ActiveSpan, SpanDetails, SpanStart, Tracing } from './ports/tracing.js'
export type { TraceContext } from './domain/trace.js'
export type { SendRequest, WebhookSender } from './ports/webhook-sender.js'
export type { AttemptMakerOptions } from './webhooks/attempt-maker.js'
export { attemptMaker } from './webhooks/attempt-maker.js'
