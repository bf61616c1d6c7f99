import { ApiError } from './api-error.js'

export type ClientOptions = {
  /** Such as `https://messages.example`; in a browser also a path of its own origin. */
  readonly baseUrl: string
  /** Of the environment, say: none at all is refused at once. */
  readonly apiKey: string | undefined
  /** The host's own unless given. */
  readonly fetch?: typeof globalThis.fetch
  /** Tries after the first, of requests that may be repeated; 4 unless given. */
  readonly retries?: number
}

type Call = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: object | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** A request that changes something is repeated only if that does no harm. */
  readonly mayRepeat?: boolean
}

export type Http = {
  /** The answer's body. Rejects with an `ApiError`, or with what `fetch` rejects with. */
  json<T>(call: Call): Promise<T>
  /** The answer itself, its body unread. */
  open(call: Call): Promise<Response>
  /** Rests before the same is asked again. Rejects with the signal's reason when that aborts. */
  pause(signal: AbortSignal | undefined): Promise<void>
}

const RETRIES = 4
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** Longer than this nobody waits within a call: the refusal goes to the caller. */
const LONGEST_RETRY_AFTER_MS = 60_000
const MAY_PASS: readonly number[] = [429, 502, 503, 504]
const BASE_URL = /^(?:https?:\/\/.|\/|$)/i
/** What URLs take for a step on the way, escaped or not. */
const DOT_SEGMENT = /\/\.\.?(?:\/|$)/

/** What somebody gave, as one step of a path: with a slash in it, it would lead to somewhere else. */
export const step = (text: string): string => `/${encodeURIComponent(text)}`

export function createHttp(options: ClientOptions, rest: typeof sleep = sleep): Http {
  const { baseUrl, apiKey, fetch = globalThis.fetch, retries = RETRIES } = options
  if (!apiKey)
    throw new Error(
      'There is no API key: give `apiKey` the amk_… of your project (`npm start` prints one, and keeps it in data/api-key)',
    )
  // A request to nowhere would be repeated as one whose connection failed.
  if (!BASE_URL.test(baseUrl))
    throw new Error(
      'There is no base URL: give `baseUrl` where the service is, such as https://messages.example',
    )
  const base = baseUrl.replace(/\/+$/, '')

  function send({ method, path, query, body, headers, signal }: Call): Promise<Response> {
    return fetch(base + path + queryOf(query), {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      // Followed, many a redirect makes a GET of a POST: a send would come as a question for the list, which is answered with 200.
      redirect: 'manual',
    })
  }

  /** What `take` makes of the answer. One that breaks off while it is taken counts as none. */
  async function ask<T>(call: Call, take: (answer: Response) => T | Promise<T>): Promise<T> {
    if (DOT_SEGMENT.test(call.path))
      throw new TypeError(
        `${call.path} would lead elsewhere: neither "." nor ".." can stand in a path`,
      )
    const tries = call.method === 'GET' || call.mayRepeat ? retries : 0
    for (let attempt = 0; ; attempt++) {
      const tried = await send(call)
        .then(async (answer) => (answer.ok ? { taken: await take(answer) } : { answer }))
        .catch((error: unknown) => {
          if (attempt >= tries || call.signal?.aborted) throw error
        })
      if (tried && 'taken' in tried) return tried.taken
      const answer = tried?.answer
      const pause = answer ? pauseAfter(answer, attempt) : backoff(attempt)
      if (answer && (attempt >= tries || pause === undefined)) {
        throw refused(answer, isRedirect(answer) ? leadsTo(answer) : await answer.text())
      }
      await answer?.body?.cancel()
      await rest(pause ?? 0, call.signal)
    }
  }

  return {
    open: (call) => ask(call, (answer) => answer),
    pause: (signal) => rest(FIRST_PAUSE_MS, signal),
    json: async <T>(call: Call) => {
      const { answer, text } = await ask(call, async (answer) => ({
        answer,
        text: await answer.text(),
      }))
      if (answer.status === 204) return undefined as T
      try {
        return JSON.parse(text) as T
      } catch {
        throw refused(answer, text)
      }
    },
  }
}

const refused = ({ status, headers }: Response, text: string): ApiError =>
  new ApiError(status, text, headers.get('x-request-id'))

/** Browsers do not tell the status of one, nor where it leads. */
const isRedirect = ({ status, type }: Response): boolean =>
  type === 'opaqueredirect' || (status >= 300 && status < 400)
const leadsTo = ({ headers }: Response): string =>
  `a redirect to ${headers.get('location') ?? 'somewhere else'}, and the service sends none: is \`baseUrl\` its own address?`

/** How long to wait before a refused request is worth repeating; undefined when it is not. `Retry-After` is a floor. */
function pauseAfter({ status, headers }: Response, attempt: number): number | undefined {
  if (!MAY_PASS.includes(status)) return undefined
  const asked = Number(headers.get('retry-after') ?? 0) * 1_000
  if (asked > LONGEST_RETRY_AFTER_MS) return undefined
  return Math.max(Number.isFinite(asked) ? asked : 0, backoff(attempt))
}

const backoff = (attempt: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2)

function queryOf(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** Rejects with the signal's reason when it aborts. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
