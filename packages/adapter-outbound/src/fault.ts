import type { Outcome, UnreachableError } from '@org/agent-messaging-core/runtime'
import { errors } from './undici.js'

/** Why there is no response. `detail` is for customers and reveals nothing about our network. */
export type Unreachable = Extract<Outcome, { kind: 'unreachable' }>

export const unreachable = (error: UnreachableError, detail: string): Unreachable => ({
  kind: 'unreachable',
  error,
  detail,
})

/** A failure with its class. Like the failures of `fetch`, a `TypeError`. */
export class Fault extends TypeError {
  readonly code: UnreachableError
  readonly outcome: Unreachable

  constructor(error: UnreachableError, detail: string) {
    super(detail)
    this.code = error
    this.outcome = unreachable(error, detail)
  }
}

/**
 * Classifies an error on an open connection. The dialer classifies its own. `hasHead`: the head of
 * the response had arrived.
 */
export function classify(error: unknown, hasHead: boolean): Unreachable {
  if (error instanceof Fault) return error.outcome
  if (error instanceof errors.HTTPParserError) return parserFailure(error.message)
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === 'UND_ERR_SOCKET') return socketFailure(String(message))
  if (typeof code !== 'string') return unreachable('protocol', 'the request failed')
  // undici reports every malformed head with a length as a body of another length.
  if (code === LENGTH_MISMATCH && !hasHead)
    return unreachable('protocol', 'the head of the response has two lengths or a malformed header')
  if (RESETS.has(code)) return ENDED_EARLY
  if (code === 'ETIMEDOUT') return unreachable('timeout', 'the connection stopped responding')
  if (TLS_CODE.test(code)) return unreachable('tls', `the TLS connection failed (${code})`)
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return unreachable('protocol', 'the headers of the response are too large')
  if (UNSENDABLE.has(code))
    return unreachable('protocol', 'the request has a header that cannot be sent')
  return unreachable('protocol', `the request failed (${code})`)
}

export const ENDED_EARLY = unreachable(
  'reset',
  'the connection ended before the response was complete',
)
const LENGTH_MISMATCH = 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
const RESETS = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', LENGTH_MISMATCH])
const UNSENDABLE = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
])
export const TLS_CODE = /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/

/** The parser's message names a rule of HTTP and quotes nothing from the response. */
const parserFailure = (message: string) =>
  message.includes('Invalid EOF state') ? ENDED_EARLY : unreachable('protocol', message)

/** Only the message tells these errors apart: undici has one code for all. */
function socketFailure(message: string) {
  if (message === 'bad upgrade')
    return unreachable('protocol', 'the response switches to another protocol')
  if (message === 'bad response')
    return unreachable('protocol', 'the response does not belong to this request')
  return ENDED_EARLY
}
