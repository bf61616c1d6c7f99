/** For authors of runtimes, senders and other adapters. */
export type { EarlierTurn, HistoryLimit, Turn } from './domain/messages/history.js'
export { acceptsText, type InputPart } from './domain/messages/input-part.js'
export {
  isSameQuestion,
  parseQuestion,
  type AnsweredInput,
  type AskingRun,
  type ContextMessage,
  type Question,
} from './domain/messages/message-input.js'
export {
  parsePartEvent,
  PART_LIMITS,
  type AnswerParts,
  type Part,
  type PartEvent,
} from './domain/messages/part.js'
export { PartCollector, toolPart } from './domain/messages/part-collector.js'
export {
  failedRun,
  RUN_ERROR_CODES,
  type EndedRun,
  type FinishedRun,
  type RunError,
  type RunOutcome,
} from './domain/messages/run.js'
export type { TraceContext } from './domain/messages/trace.js'
export { parseRunUsage, type RunUsage } from './domain/operations/usage.js'
export { given } from './domain/values/given.js'
export { idEndIn, isUuid, orMissing } from './domain/values/input-rules.js'
export {
  bodyTextLimits,
  bodyTextRule,
  jsonTextLimits,
  jsonTextProblem,
  jsonTextRule,
  parseJsonText,
} from './domain/values/json-text.js'
export {
  beginningOf,
  canonicalJson,
  isJsonObject,
  isLonger,
  isStorableText,
} from './domain/values/json.js'
export { defaultLimits } from './domain/values/limits.js'
export { didYouMean, nearestName, unknownFields } from './domain/values/nearest-name.js'
export { ShortLivedMap } from './domain/values/short-lived-map.js'
export { UNREACHABLE_ERRORS, type UnreachableError } from './domain/values/unreachable-error.js'
export {
  customHeadersProblem,
  customHeadersSchema,
  withCustomHeaders,
  type CustomHeaderRules,
  type CustomHeaders,
} from './domain/webhooks/custom-headers.js'
export type { Outcome } from './domain/webhooks/delivery.js'
export type { EventData, EventPayload } from './domain/webhooks/event.js'
export {
  isSecret,
  newSecret,
  signatureHeaders,
  type Hmac,
  type SignedRequest,
} from './domain/webhooks/signature.js'
export { webhookSecretContext } from './domain/webhooks/webhook.js'
export { noTracing } from './pacing/no-tracing.js'
export type { AttemptPolicy } from './policy.js'
export type {
  AgentRuntime,
  OnExit,
  ParsedOptions,
  RunningAgent,
  RunRequest,
  RuntimeAgent,
  RuntimeOptionsSchema,
} from './ports/agent-runtime.js'
export type { AttemptMaker, AttemptOrder, MadeAttempt } from './ports/attempt-maker.js'
export type { Clock, Crypto, Ids, Random } from './ports/platform.js'
export { failure, success, type PortResult } from './ports/port-result.js'
export { levelOfFact, type Fact, type Telemetry } from './ports/telemetry.js'
export type { ActiveSpan, SpanDetails, SpanStart, Tracing } from './ports/tracing.js'
export type { SendRequest, WebhookSender } from './ports/webhook-sender.js'
export type { Ask, AskOptions } from './runtimes/asking.js'
export { isMissing, needsPackage, partsWith } from './runtimes/missing-package.js'
export {
  agentHeadersProblem,
  parseRemoteOptions,
  remoteOptions,
  remoteOptionsSchema,
  unknownOption,
} from './runtimes/remote-options.js'
export { attemptMaker, type AttemptMakerOptions } from './webhooks/attempt-maker.js'
