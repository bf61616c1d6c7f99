import type { IncomingHttpHeaders } from 'node:http'
import type { HttpMethod } from './exchange.js'
import { Fault } from './fault.js'
import type { OutboundHttp } from './outbound-http.js'
import { errorOf, type HttpStream } from './streamed-answer.js'

export type FetchLimits = {
  /** Of one answer's body. */
  readonly maxBodyBytes?: number
  /** Of one whose type is `text/event-stream`. */
  readonly maxEventStreamBytes?: number
  /** From the call to the last byte of the body. */
  readonly deadlineMs?: number
  /** The longest standstill of a body, whichever side it is due to. */
  readonly idleMs?: number
}

/** The longest text that the service takes, each character of it escaped, and something beside it; much more of it as the events of single words; and no time-out but the caller's own. */
const LIMITS = {
  maxBodyBytes: 8 * 1024 * 1024,
  maxEventStreamBytes: 64 * 1024 * 1024,
  deadlineMs: 24 * 3_600_000,
  idleMs: 5 * 60_000,
}

/**
 * The `fetch` of the web over our own connections, for libraries that take one. It differs in what protects us: the address
 * guard judges every dial, redirects are answers and never followed, nothing is inflated, and a body that exceeds a limit
 * errors. What fails does so with a `TypeError` that says why, in `message` and in `code`: an `UnreachableError` such as
 * `address_blocked`, `timeout` or `reset`. What is aborted fails with the signal's reason.
 */
export function guardedFetch(
  http: Pick<OutboundHttp, 'stream'>,
  limits: FetchLimits = {},
): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    // Not `request.signal`: once the request is collected as garbage, that one does not follow the caller's any more.
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
/** A `Response` of these takes no body. */
const BODILESS = new Set([204, 205, 304])

function responseOf(
  { statusCode: status, headers, body }: HttpStream,
  redirect: Request['redirect'],
): Response {
  const problem = problemOf(status, redirect)
  if (problem !== undefined || BODILESS.has(status)) body.cancel().catch(() => undefined)
  if (problem !== undefined) throw new Fault('protocol', problem)
  return new Response(BODILESS.has(status) ? null : body, { status, headers: headersOf(headers) })
}

function problemOf(status: number, redirect: Request['redirect']): string | undefined {
  if (redirect === 'error' && REDIRECTS.has(status)) return 'the answer is a redirect'
  return status > 599 ? `the answer has the status ${status}` : undefined
}

function headersOf(received: IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(received))
    for (const value of [values ?? []].flat()) headers.append(name, value)
  return headers
}
