import type { Access } from '@org/agent-messaging-core'
import { accessProblem, isRefusal, textOf } from '@org/agent-messaging-core/host'
import { RequestRefusal, User, type Authenticate } from '@org/agent-messaging-http-kit'

/**
 * Says who sends a request, by the host's own login. `host` is the second argument of `fetch`, or
 * the request of Node. Undefined: the request needs an API key. `signal` is aborted when the caller
 * leaves, and after 10 seconds, when the request is refused.
 */
export type Authorize<Host> = (
  request: {
    readonly method: string
    readonly url: URL
    readonly headers: Headers
    readonly signal: AbortSignal
  },
  host: Host | undefined,
) => Access | undefined | Promise<Access | undefined>

export type Hook = {
  /** Returns what the host says. `limit` is aborted after `limitMs`. */
  readonly ask: (request: Request, limit: AbortSignal) => Promise<unknown>
  readonly limitMs: number
  readonly projectId: string
  /** How often a stream and a wait ask again. */
  readonly checkMs: number
  readonly now: () => number
  readonly onError: (error: unknown) => void
  /** Origins whose pages can change data, besides the one of the request. */
  readonly origins: readonly string[]
}

/**
 * Asks the hook first. If it returns nothing, the request needs an API key. If it throws, the
 * request fails, and no key is tried.
 */
export const byHook =
  (hook: Hook, byApiKey: Authenticate): Authenticate =>
  async (request, options) => {
    // The host knows the users of its own project only.
    if (options.project !== undefined) return byApiKey(request, options)
    const access = await accessOf(hook, request)
    if (access === undefined) return byApiKey(request, options)
    if (isFromOwnPage(request, hook.origins))
      return new User({ ...hook, access, again: () => again(hook, request) })
    throw new RequestRefusal({ kind: 'origin_refused' })
  }

/** A hook that throws ends a stream, and takes a late answer back: the caller can ask again. */
async function again(hook: Hook, request: Request): Promise<Access | undefined> {
  try {
    return await accessOf(hook, request)
  } catch (error) {
    if (error instanceof RequestRefusal) throw error
    hook.onError(error)
    throw new RequestRefusal({ kind: 'login_unavailable' })
  }
}

async function accessOf(hook: Hook, request: Request): Promise<Access | undefined> {
  const answer = await answerOf(hook, request)
  if (answer === undefined || answer === null) return undefined
  const problem = accessProblem(answer)
  // A stream compares it with a later one, and the host may change its own object.
  if (!problem) return structuredClone(answer) as Access
  throw new TypeError(`authorize returned a wrong value: ${textOf(problem)}`)
}

async function answerOf({ ask, limitMs, onError }: Hook, request: Request): Promise<unknown> {
  const limit = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`authorize has not answered within ${limitMs} ms`)
    onError(error)
    limit.abort(error)
    late.reject(error)
  }, limitMs)
  try {
    return await Promise.race([late.promise, ask(request, limit.signal)])
  } catch (error) {
    // A caller that has left reads no answer.
    if (limit.signal.aborted || request.signal.aborted)
      throw new RequestRefusal({ kind: 'login_unavailable' })
    // Hono handles only instances of Error. A call of the service that failed is no refusal here.
    throw error instanceof Error && !isRefusal(error)
      ? error
      : new Error(String(error), { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A browser sends cookies also for pages of other origins. Such a page must not change anything. A
 * request without both headers is not from a browser.
 */
function isFromOwnPage({ method, url, headers }: Request, origins: readonly string[]): boolean {
  const origin = headers.get('origin')
  if (method === 'GET' || method === 'HEAD' || (origin && origins.includes(origin))) return true
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  // A proxy can change the scheme, so that only the host counts.
  return origin === null || (URL.canParse(origin) && new URL(origin).host === new URL(url).host)
}
