import type { Outcome, UnreachableError } from '@org/agent-messaging-core/runtime'
import { errors } from 'undici'

/** Why there is no answer. `detail` is a short sentence that tells a customer nothing about our network. */
export type Unreachable = Extract<Outcome, { kind: 'unreachable' }>

export const unreachable = (error: UnreachableError, detail: string): Unreachable => ({
  kind: 'unreachable',
  error,
  detail,
})

/** A failure whose class is known where it is thrown. A `TypeError`, as that is what failures of `fetch` are. */
export class Fault extends TypeError {
  readonly code: UnreachableError
  readonly outcome: Unreachable

  constructor(error: UnreachableError, detail: string) {
    super(detail)
    this.code = error
    this.outcome = unreachable(error, detail)
  }
}

/** What ended a request on a connection that was already there; faults of dialling come classed. */
export function classify(error: unknown): Unreachable {
  if (error instanceof Fault) return error.outcome
  if (error instanceof errors.HTTPParserError) return ofParserError(error.message)
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === 'UND_ERR_SOCKET') return ofSocketError(String(message))
  if (typeof code !== 'string') return unreachable('protocol', 'the exchange failed')
  if (RESETS.has(code)) return ENDED_EARLY
  if (code === 'ETIMEDOUT') return unreachable('timeout', 'the connection went dead')
  if (TLS_CODE.test(code)) return unreachable('tls', `the TLS connection failed (${code})`)
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return unreachable('protocol', 'the head of the answer is too large')
  if (UNSENDABLE.has(code))
    return unreachable('protocol', 'the request has a header that cannot be sent')
  return unreachable('protocol', `the exchange failed (${code})`)
}

const ENDED_EARLY = unreachable('reset', 'the connection ended before the answer was complete')
const RESETS = new Set([
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
])
const UNSENDABLE = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
])
export const TLS_CODE = /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/

/** The parser's text names a rule of HTTP and quotes nothing of the answer. */
const ofParserError = (message: string): Unreachable =>
  message.includes('Invalid EOF state') ? ENDED_EARLY : unreachable('protocol', message)

/** undici has one code for these; the text tells them apart. */
function ofSocketError(message: string): Unreachable {
  if (message === 'bad upgrade')
    return unreachable('protocol', 'the answer switches to another protocol')
  if (message === 'bad response')
    return unreachable('protocol', 'the answer is not one to this request')
  return ENDED_EARLY
}
