import type { IncomingHttpHeaders } from 'node:http'
import type { HttpMethod } from './exchange.js'
import { Fault } from './fault.js'
import type { OutboundHttp } from './outbound-http.js'
import { errorOf, STREAM_LIMITS, type HttpStream } from './models/streamed-response.js'

export type FetchLimits = {
  /** Limits the body of a response. */
  readonly maxBodyBytes?: number
  /** Limits the body of a response of type `text/event-stream`. */
  readonly maxEventStreamBytes?: number
  /** Limits the time from the call to the last byte of the body. */
  readonly deadlineMs?: number
  /** Limits how long a body can stall, on the side of the server or of the reader. */
  readonly idleMs?: number
}

/**
 * A body can hold the longest text with every character escaped. The deadline is longer than any
 * caller's.
 */
const LIMITS = {
  ...STREAM_LIMITS,
  maxBodyBytes: 8 * 1024 * 1024,
  deadlineMs: 24 * 3_600_000,
}

/**
 * A `fetch` over the service's own connections. Unlike the global `fetch`, the address guard checks
 * every dial, redirects are returned, bodies are not decompressed, and a body beyond its limit
 * fails.
 *
 * A failure is a `TypeError` whose `code` is an `UnreachableError`. An aborted call fails with the
 * signal's reason.
 */
export function guardedFetch(
  http: Pick<OutboundHttp, 'stream'>,
  limits: FetchLimits = {},
): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    // `request.signal` stops following the caller's signal once the request is garbage-collected.
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const outcome = await http.stream({
      ...LIMITS,
      ...limits,
      method: request.method as HttpMethod,
      url: request.url,
      headers: { ...Object.fromEntries(request.headers), 'accept-encoding': 'identity' },
      ...(request.body && { body: new Uint8Array(await request.arrayBuffer()) }),
      ...(signal && { signal }),
    })
    if (outcome.kind === 'unreachable') throw errorOf(outcome, signal)
    return responseOf(outcome, request.redirect)
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** A `Response` with one of these statuses cannot have a body. */
const BODILESS = new Set([204, 205, 304])

function responseOf(
  { statusCode: status, headers, body }: HttpStream,
  redirect: Request['redirect'],
) {
  const problem = problemOf(status, redirect)
  if (problem !== undefined || BODILESS.has(status)) body.cancel().catch(() => undefined)
  if (problem !== undefined) throw new Fault('protocol', problem)
  return new Response(BODILESS.has(status) ? null : body, { status, headers: headersOf(headers) })
}

function problemOf(status: number, redirect: Request['redirect']) {
  if (redirect === 'error' && REDIRECTS.has(status)) return 'the response is a redirect'
  return status > 599 ? `the response has the status ${status}` : undefined
}

function headersOf(received: IncomingHttpHeaders) {
  const headers = new Headers()
  for (const [name, values] of Object.entries(received))
    for (const value of [values ?? []].flat()) headers.append(name, value)
  return headers
}
