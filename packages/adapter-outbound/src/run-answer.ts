import {
  failedRun,
  isJsonObject,
  type Json,
  type RunOutcome,
} from '@org/agent-messaging-core/runtime'
import type { HttpOutcome, HttpResponse } from './answer.js'
import type { Unreachable } from './fault.js'
import { parseRetryAfter } from './retry-after.js'

/** These say "not now": the same request may well succeed later. Every 5xx is one of them too. */
const RETRYABLE_STATUS = new Set([408, 425, 429])

/** What an agent's answer means for the run. */
export const runOutcomeOf = (outcome: HttpOutcome, now: number): RunOutcome =>
  outcome.kind === 'response' ? ofResponse(outcome, now) : unreachedRun(outcome)

/** What it means that there was none. */
export function unreachedRun({ error, detail }: Unreachable): RunOutcome {
  if (error === 'timeout')
    return failedRun('RUNTIME_TIMEOUT', `the runtime did not answer: ${detail}`, true)
  // The operator's rules are the same next time.
  const retryable = error !== 'address_blocked'
  return failedRun('RUNTIME_ERROR', `the runtime was not reached (${error}): ${detail}`, retryable)
}

/** When a server that says "not now" wants to be asked again. */
export function retryIn(retryAfter: unknown, now: number): { retryInMs?: number } {
  const retryInMs = parseRetryAfter(retryAfter, now)
  return retryInMs === undefined ? {} : { retryInMs }
}

function ofResponse(response: HttpResponse, now: number): RunOutcome {
  const { statusCode, headers } = response
  if (statusCode === 200) return answered(response)
  if (statusCode === 202) return { kind: 'deferred', ...deadlineOf(response) }
  if (statusCode < 300)
    return failedRun(
      'RESPONSE_INVALID',
      `the runtime answered ${statusCode}; it must answer 200 or 202`,
    )
  const said = `the runtime answered ${statusCode}`
  if (statusCode < 500 && !RETRYABLE_STATUS.has(statusCode)) return failedRun('RUNTIME_ERROR', said)
  return { ...failedRun('RUNTIME_ERROR', said, true), ...retryIn(headers['retry-after'], now) }
}

function answered(response: HttpResponse): RunOutcome {
  if (response.truncated)
    return failedRun(
      'RESPONSE_INVALID',
      `the runtime's answer has more than ${response.body.length} bytes`,
    )
  const json = parseJson(response.body)
  if (json === undefined && !saysLength(response))
    return failedRun(
      'RUNTIME_ERROR',
      "the runtime's answer is not whole JSON: it says no length, and may have been cut",
      true,
    )
  return isJsonObject(json) && typeof json['response'] === 'string'
    ? { kind: 'answered', response: json['response'] }
    : failedRun('RESPONSE_INVALID', `the runtime's answer is not {"response": "text"} in JSON`)
}

/** Without, the end of the connection is the end of the answer, whether its agent meant it or died (RFC 9112 §6.3). */
const saysLength = ({ headers }: HttpResponse): boolean =>
  'content-length' in headers || 'transfer-encoding' in headers

/** A 202 needs no body, so one that says nothing usable does no harm: the service's own deadline holds. */
function deadlineOf(response: HttpResponse): { deadlineMs?: number } {
  const json = response.truncated ? undefined : parseJson(response.body)
  const deadlineMs = isJsonObject(json) ? json['deadlineMs'] : undefined
  return typeof deadlineMs === 'number' && Number.isSafeInteger(deadlineMs) && deadlineMs > 0
    ? { deadlineMs }
    : {}
}

/** Undefined for what is not UTF-8 or not JSON. */
function parseJson(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json
  } catch {
    return undefined
  }
}
