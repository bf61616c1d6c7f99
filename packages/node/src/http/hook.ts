import type { Access } from '@org/agent-messaging-core'
import { accessProblem, isRefusal } from '@org/agent-messaging-core/host'
import { RequestRefusal, User, type Authenticate } from '@org/agent-messaging-http-kit'

/**
 * Says who sends a request, by the host's own login. `host` is the second argument of `fetch`, or
 * the request of Node. Undefined: the request needs an API key.
 */
export type Authorize<Host> = (
  request: { readonly method: string; readonly url: URL; readonly headers: Headers },
  host: Host | undefined,
) => Access | undefined | Promise<Access | undefined>

export type Hook = {
  /** Returns what the host says. */
  readonly ask: (request: Request) => unknown
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
    const access = await accessOf(hook, request)
    if (access === undefined) return byApiKey(request, options)
    if (isFromOwnPage(request, hook.origins))
      return new User({ ...hook, access, again: () => again(hook, request) })
    throw new RequestRefusal({ kind: 'origin_refused' })
  }

/** A hook that throws ends a stream: the caller can ask again. */
async function again(hook: Hook, request: Request): Promise<Access | undefined> {
  try {
    return await accessOf(hook, request)
  } catch (error) {
    hook.onError(error)
    return undefined
  }
}

async function accessOf({ ask }: Hook, request: Request): Promise<Access | undefined> {
  let answer: unknown
  try {
    answer = await ask(request)
  } catch (error) {
    // Hono handles only instances of Error. A call of the service that failed is no refusal here.
    throw error instanceof Error && !isRefusal(error)
      ? error
      : new Error(String(error), { cause: error })
  }
  if (answer === undefined || answer === null) return undefined
  const problem = accessProblem(answer)
  // A stream compares it with a later one, and the host may change its own object.
  if (!problem) return structuredClone(answer) as Access
  const issues = problem.issues.map(({ path, message }) => `${path} ${message}`)
  throw new TypeError(`authorize returned a wrong value: ${issues.join('; ')}`)
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
