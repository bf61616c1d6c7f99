import { ApiError } from './api-error.js'

export type ClientOptions = {
  /** Such as `https://messages.example`, or a path in a browser. */
  readonly baseUrl: string
  /** The default is the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** How often a request is retried if that is safe. The default is 4. */
  readonly retries?: number
  /** The id or `externalId` of the project on which `apiKey`, a platform key, acts. */
  readonly project?: string
} & Credential

type Credential =
  | {
      /**
       * `null` sends no key: the host's own login knows the caller, for example by cookies.
       * `undefined`, as from an unset environment variable, is rejected immediately.
       */
      readonly apiKey: string | null | undefined
      readonly token?: undefined
    }
  | {
      /** Returns a session token. Called before the first request, and when a token has ended. */
      readonly token: () => Promise<string>
      readonly apiKey?: undefined
    }

type Call = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly query?: object | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** True for a change that is safe to repeat. A GET is always safe. */
  readonly retryable?: boolean
}

export type Http = {
  get<T>(path: string, query?: object): Promise<T>
  /** For a change that must not be repeated. */
  post<T>(path: string, body?: unknown): Promise<T>
  /** For a change that is safe to repeat. */
  repeatable<T>(method: Call['method'], path: string, body?: unknown): Promise<T>
  /** Returns the parsed body. Rejects with an `ApiError` or with the error of `fetch`. */
  json<T>(call: Call): Promise<T>
  /** Returns the response with an unread body. */
  open(call: Call): Promise<Response>
  /** Waits before the next poll. Rejects with the signal's reason on abort. */
  pause(signal: AbortSignal | undefined): Promise<void>
}

const RETRIES = 4
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 10_000
/** A longer `Retry-After` is not waited for: the caller gets the error. */
const MAX_RETRY_AFTER_MS = 60_000
const RETRYABLE_STATUS: readonly number[] = [429, 502, 503, 504]
const BASE_URL = /^(?:https?:\/\/.|\/|$)/i
/** URL parsers resolve these segments, even if they are escaped. */
const DOT_SEGMENT = /\/\.\.?(?:\/|$)/

/** Paths that name their project, or that are about no project. */
const OF_NO_PROJECT = /^\/v1\/(?:projects|platform-keys|operator)(?:\/|$)/

/** Encodes a value as one segment of a path, so that a slash in it does not change the route. */
export const segment = (text: string): string => `/${encodeURIComponent(text)}`

/** The paths of the resources below a path, by their id. */
export const pathsBelow =
  (base: string) =>
  (id: string, rest = '') =>
    base + segment(id) + rest

export function createHttp(options: ClientOptions, wait: typeof sleep = sleep): Http {
  const { baseUrl, apiKey, token, project, fetch = globalThis.fetch, retries = RETRIES } = options
  if (!apiKey && apiKey !== null && !token)
    throw new Error(
      'apiKey is missing: pass the amk_… key of your project (see data/api-key after `npm start`)',
    )
  // `fetch` would fail for another URL, and the client would retry.
  if (!BASE_URL.test(baseUrl))
    throw new Error(
      'baseUrl is not an http(s) URL: pass the service address, like https://messages.example',
    )
  const urlOf = urlsBelow(baseUrl.replace(/\/+$/, ''), project)

  const withCredential = credentialOf({ apiKey, token })
  const send = (call: Call): Promise<Response> => withCredential((key) => sendWith(key, call))

  function sendWith(
    key: string,
    { method, path, query, body, headers, signal }: Call,
  ): Promise<Response> {
    return fetch(urlOf(path) + queryOf(query), {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      // A followed redirect can turn a POST into a GET. A send would then return the list of
      // messages.
      redirect: 'manual',
    })
  }

  /** Returns the result of `read`. A response that breaks off during `read` counts as a failure. */
  async function request<T>(
    call: Call,
    read: (response: Response) => T | Promise<T>,
  ): Promise<{ readonly response: Response; readonly value: T }> {
    if (DOT_SEGMENT.test(call.path))
      throw new TypeError(`${call.path} must not contain "." or ".." as a path segment`)
    const maxRetries = call.method === 'GET' || call.retryable ? retries : 0
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= maxRetries
      let response: Response | undefined
      try {
        response = await send(call)
        if (response.ok) return { response, value: await read(response) }
      } catch (error) {
        if (isLast || call.signal?.aborted) throw error
        response = undefined
      }
      const pause = response ? pauseAfter(response, attempt) : backoff(attempt)
      if (response && (isLast || pause === undefined)) throw await errorOf(response)
      await response?.body?.cancel()
      await wait(pause ?? 0, call.signal)
    }
  }

  async function json<T>(call: Call) {
    const { response, value: text } = await request(call, (response) => response.text())
    if (response.status === 204) return undefined as T
    try {
      return JSON.parse(text) as T
    } catch {
      throw apiError(response, text)
    }
  }

  return {
    json,
    get: (path, query) => json({ method: 'GET', path, query }),
    post: (path, body) => json({ method: 'POST', path, body }),
    repeatable: (method, path, body) => json({ method, path, body, retryable: true }),
    open: async (call) => (await request(call, () => undefined)).response,
    pause: (signal) => wait(FIRST_PAUSE_MS, signal),
  }
}

/** Returns the URL of a path, which a platform key finds below the project. */
function urlsBelow(base: string, project: string | undefined): (path: string) => string {
  if (project === undefined) return (path) => base + path
  const own = `/v1/projects${segment(project)}/`
  if (project === '' || DOT_SEGMENT.test(own))
    throw new Error('project is not the id or the externalId of a project')
  return (path) => base + (OF_NO_PROJECT.test(path) ? path : path.replace('/v1/', () => own))
}

/** Returns a function that sends with the key, or with a token that it keeps until the token ends. */
function credentialOf({ apiKey, token }: Pick<ClientOptions, 'apiKey' | 'token'>) {
  if (!token) return (send: (key: string) => Promise<Response>) => send(apiKey ?? '')
  let current: Promise<string> | undefined
  return async (send: (key: string) => Promise<Response>): Promise<Response> => {
    const used = (current ??= token())
    const forget = () => {
      if (current === used) current = undefined
    }
    const response = await send(
      await used.catch((error: unknown) => {
        forget()
        throw error
      }),
    )
    if (response.status !== 401) return response
    // The token has ended. Nothing was stored, so that every call can be repeated.
    await response.body?.cancel()
    forget()
    return send(await (current ??= token()))
  }
}

const apiError = ({ status, headers }: Response, text: string) =>
  new ApiError(status, text, headers.get('x-request-id'))

/** Browsers hide the status and the target of a redirect. */
async function errorOf(response: Response) {
  const { status, type, headers } = response
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400)
  if (!isRedirect) return apiError(response, await response.text())
  const target = headers.get('location') ?? 'another URL'
  return apiError(
    response,
    `a redirect to ${target}. The service sends no redirects: check \`baseUrl\``,
  )
}

/** The time before the next attempt, at least `Retry-After`. Undefined: no retry. */
function pauseAfter({ status, headers }: Response, attempt: number): number | undefined {
  if (!RETRYABLE_STATUS.includes(status)) return undefined
  const retryAfter = Number(headers.get('retry-after') ?? 0) * 1_000
  if (retryAfter > MAX_RETRY_AFTER_MS) return undefined
  return Math.max(Number.isFinite(retryAfter) ? retryAfter : 0, backoff(attempt))
}

const backoff = (attempt: number) =>
  Math.min(FIRST_PAUSE_MS * 2 ** attempt, MAX_PAUSE_MS) * (0.5 + Math.random() / 2)

function queryOf(query: object = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** Rejects with the signal's reason on abort. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
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
