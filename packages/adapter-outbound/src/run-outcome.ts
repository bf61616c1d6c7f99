import type { Json, JsonObject } from '@org/agent-messaging-core'
import {
  failedRun,
  isJsonObject,
  parseJsonText,
  parseQuestion,
  parseRunUsage,
  type EndedRun,
  type RunOutcome,
} from '@org/agent-messaging-core/runtime'
import { ABORTED } from './exchange.js'
import { Fault, type Unreachable } from './fault.js'
import { TooLarge } from './models/streamed-response.js'
import type { HttpOutcome, HttpResponse } from './response.js'
import { parseRetryAfter } from './retry-after.js'

/** A retry after one of these statuses can succeed. The same holds for every 5xx. */
const RETRYABLE_STATUS = new Set([408, 425, 429])

export const runOutcomeOf = (outcome: HttpOutcome, now: number): RunOutcome =>
  outcome.kind === 'response' ? fromResponse(outcome, now) : unreachedRun(outcome)

/** Turns a request without a response into the outcome of its run. */
export function unreachedRun({ error, detail }: Unreachable): RunOutcome {
  if (error === 'timeout')
    return failedRun('RUNTIME_TIMEOUT', `the runtime did not answer: ${detail}`, true)
  // A retry meets the same address rules.
  const retryable = error !== 'address_blocked'
  return failedRun('RUNTIME_ERROR', `the runtime was not reached (${error}): ${detail}`, retryable)
}

/**
 * Turns an error while a response is read into the outcome of its run. Returns undefined if the
 * error has another cause.
 */
export function unreadRun(thrown: unknown, signal: AbortSignal): RunOutcome | undefined {
  const error: unknown = signal.aborted ? signal.reason : thrown
  if (error instanceof TooLarge) return failedRun('RESPONSE_INVALID', error.message)
  if (error instanceof Fault) return unreachedRun(error.outcome)
  return signal.aborted ? unreachedRun(ABORTED) : undefined
}

/** Reads from `Retry-After` when a server accepts the next attempt. */
export function retryIn(retryAfter: unknown, now: number): { retryInMs?: number } {
  const retryInMs = parseRetryAfter(retryAfter, now)
  return retryInMs === undefined ? {} : { retryInMs }
}

function fromResponse(response: HttpResponse, now: number): RunOutcome {
  const { statusCode, headers } = response
  if (statusCode === 200) return answered(response)
  if (statusCode === 202) return { kind: 'deferred', ...deadlineOf(response) }
  if (statusCode < 300)
    return failedRun('RESPONSE_INVALID', `the runtime answered ${statusCode} instead of 200 or 202`)
  const message = `the runtime answered ${statusCode}`
  if (statusCode < 500 && !RETRYABLE_STATUS.has(statusCode))
    return failedRun('RUNTIME_ERROR', message)
  return { ...failedRun('RUNTIME_ERROR', message, true), ...retryIn(headers['retry-after'], now) }
}

function answered(response: HttpResponse): RunOutcome {
  if (response.truncated)
    return failedRun(
      'RESPONSE_INVALID',
      `the runtime's answer has more than ${response.body.length} bytes`,
    )
  const json = parseJson(response.body)
  if (json === undefined && !hasFraming(response))
    return failedRun(
      'RUNTIME_ERROR',
      "the runtime's answer is incomplete JSON without a Content-Length, so it can be cut off",
      true,
    )
  return answerIn(json)
}

/** Reads the JSON of an answer or a question. */
export function answerIn(json: Json | undefined): EndedRun {
  const usage = isJsonObject(json) ? parseRunUsage(json['usage']) : undefined
  const used = usage && { usage }
  if (isJsonObject(json) && json['question'] !== undefined) return { ...asked(json), ...used }
  return isJsonObject(json) && typeof json['response'] === 'string'
    ? { kind: 'answered', response: json['response'], ...used }
    : failedRun(
        'RESPONSE_INVALID',
        `the runtime's answer must be JSON of the form {"response": "text"}`,
      )
}

function asked(json: JsonObject): EndedRun {
  const question = parseQuestion(json)
  return typeof question === 'string'
    ? failedRun('QUESTION_INVALID', `the question ${question}`)
    : question
}

/** False if the response ends with its connection, even after a crash (RFC 9112 §6.3). */
const hasFraming = ({ headers }: HttpResponse) =>
  'content-length' in headers || 'transfer-encoding' in headers

/** Reads the deadline from a 202. Without a usable one, the service's own deadline applies. */
function deadlineOf(response: HttpResponse): { deadlineMs?: number } {
  const json = response.truncated ? undefined : parseJson(response.body)
  const deadlineMs = isJsonObject(json) ? json['deadlineMs'] : undefined
  return typeof deadlineMs === 'number' && Number.isSafeInteger(deadlineMs) && deadlineMs > 0
    ? { deadlineMs }
    : {}
}

/** Returns undefined if the bytes are not valid UTF-8 or not JSON. */
function parseJson(bytes: Buffer): Json | undefined {
  try {
    return parseJsonText(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
