import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isConsolePath } from '@org/agent-messaging-console/path'
import type { Unavailable } from '@org/agent-messaging-core'
import type { Clock } from '@org/agent-messaging-core/runtime'
import { errorIn, inTurn, isMistyped, retrySecondsOf, textOf } from '@org/agent-messaging-core/host'
import { getPath } from 'hono/utils/url'
import ipaddr from 'ipaddr.js'
import proxyAddress from 'proxy-addr'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Bindings } from './http-listener.js'

type Fetch = (request: Request, bindings: Bindings) => Response | Promise<Response>
/** `path` is decoded, as the routers see it. */
type FetchOfPath = (
  request: Request,
  bindings: Bindings,
  path: string,
) => Response | Promise<Response>
type Area = 'api' | 'console'

/** Wrong credentials that one address can send per minute before the server refuses more. */
export const WRONG_PER_MINUTE: Readonly<Record<Area, number>> = { api: 200, console: 20 }
const MAX_KNOWN = 10_000
/** Reads of unknown API keys. The group is the address. */
const LOOK_UPS = { places: Infinity, placesPerGroup: 4, maxWaiting: 1_000, maxWaitMs: 5_000 }

export type ThrottleOptions = {
  /** Address ranges of proxies, whose `X-Forwarded-For` header names the caller. */
  readonly trustedProxies?: readonly string[] | undefined
  /** Tells whether a successful answer of this path proves that the credential is valid. */
  readonly isGuarded: (path: string) => boolean
  /** Reads the key. */
  readonly isValidKey: (apiKey: string) => Promise<boolean>
  /** Checks the token of a callback without a read. */
  readonly isRunToken: (callback: { messageId: string; runToken: string }) => boolean
  readonly onLocked: (address: string) => void
  /** Called at the first request of a proxy that is not trusted. */
  readonly onUntrustedProxy: () => void
  /** Paces the reads of keys. */
  readonly clock: Clock
  readonly now?: () => number
}

/**
 * Refuses credentials from an address that sent too many wrong ones.
 *
 * Other callers behind the same address keep working. A credential that this process has accepted
 * before is never refused here. A run token is checked without a read. A random API key of ours
 * cannot be guessed, so it is read at any time, but only four keys of an address at once.
 */
export class CredentialThrottle {
  readonly #options: ThrottleOptions
  readonly #now: () => number
  readonly #addressOf: (incoming: Bindings['incoming']) => string
  readonly #limiters: Readonly<Record<Area, RateLimiterMemory>> = {
    api: new RateLimiterMemory({ points: WRONG_PER_MINUTE.api, duration: 60 }),
    console: new RateLimiterMemory({ points: WRONG_PER_MINUTE.console, duration: 60 }),
  }
  /** When each locked address can try again, by area and address. */
  readonly #lockedUntil = new Map<string, number>()
  /** Sign-ins to the console that are being checked now, by area and address. */
  readonly #unchecked = new Map<string, number>()
  /** Authorization headers that were accepted. */
  readonly #known = new Set<string>()
  readonly #lookUp: ReturnType<typeof inTurn>
  #hasTrustedProxy: boolean

  constructor(options: ThrottleOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    const { trustedProxies = [] } = options
    this.#lookUp = inTurn(options.clock, LOOK_UPS)
    this.#hasTrustedProxy = trustedProxies.length > 0
    this.#addressOf =
      trustedProxies.length === 0
        ? ({ socket }) => socket.remoteAddress ?? ''
        : addressBehind(trustedProxies)
  }

  /** Returns a handler that passes requests on to `fetch` unless their address is locked. */
  wrap(fetch: FetchOfPath): Fetch {
    return async (request, bindings) => {
      this.#noticeProxy(bindings)
      const path = getPath(request)
      const area = isConsolePath(path) ? 'console' : 'api'
      const credential = request.headers.get('authorization')
      const isAttempt = area === 'console' ? isSignIn(path) : credential !== null
      if (!isAttempt) return fetch(request, bindings, path)
      // A caller that leaves has no address any more.
      const caller = this.#addressOf(bindings.incoming)
      const attempt: Attempt = { request, bindings, path, area, credential, caller }
      const isKnown = credential !== null && this.#known.has(credential)
      const isValid = area === 'api' && (isKnown || (await this.#isValid(attempt)))
      if (typeof isValid === 'object') return overloaded(isValid)
      if (!isValid) return this.#fetchUnlessLocked(fetch, attempt)
      const response = await fetch(request, bindings, path)
      if (response.status === 401) {
        this.#known.delete(credential ?? '')
        await this.#countWrong(area, placeOf(area, caller))
      }
      return response
    }
  }

  #noticeProxy({ incoming }: Bindings) {
    if (this.#hasTrustedProxy || incoming.headers['x-forwarded-for'] === undefined) return
    // One notice is enough.
    this.#hasTrustedProxy = true
    this.#options.onUntrustedProxy()
  }

  /** False for a credential that only its route can check. */
  async #isValid({ bindings, path, credential, caller }: Attempt): Promise<boolean | Unavailable> {
    const token = OURS.exec(credential ?? '')?.[1]
    if (credential === null || token === undefined) return false
    if (token.startsWith('amr_')) {
      const messageId = CALLBACK.exec(path)?.[1] ?? ''
      return this.#options.isRunToken({ messageId: messageId.toLowerCase(), runToken: token })
    }
    if (isMistyped(token)) return false
    const { socket } = bindings.incoming
    const turn = { group: networkOf(caller), caller: new Connection(socket) }
    const found = await this.#lookUp(turn, () => this.#options.isValidKey(token)).catch(errorIn)
    if (typeof found === 'object') return found as Unavailable
    if (found) this.#remember(credential)
    return found
  }

  async #fetchUnlessLocked(
    fetch: FetchOfPath,
    { request, bindings, path, area, credential, caller }: Attempt,
  ): Promise<Response> {
    const place = placeOf(area, caller)
    const waitMs = await this.#waitMs(area, place)
    if (waitMs > 0) return tooMany(area, Math.ceil(waitMs / 1_000))
    if (area === 'console' && !(await this.#admit(place))) return tooMany(area, 1)
    try {
      const response = await fetch(request, bindings, path)
      if (response.status === 401) await this.#countWrong(area, place)
      else if (credential !== null && response.ok && this.#options.isGuarded(path))
        this.#remember(credential)
      return response
    } finally {
      if (area === 'console') this.#leave(place)
    }
  }

  /**
   * Sign-ins that arrive together must not all pass before the first one is counted. Requests with
   * an API key can wait long for an answer, so they do not count before it.
   */
  async #admit(place: string) {
    const wrong = (await this.#limiters.console.get(place))?.consumedPoints ?? 0
    const unchecked = this.#unchecked.get(place) ?? 0
    if (wrong + unchecked > WRONG_PER_MINUTE.console) return false
    this.#unchecked.set(place, unchecked + 1)
    return true
  }

  #leave(place: string) {
    const unchecked = (this.#unchecked.get(place) ?? 0) - 1
    if (unchecked > 0) this.#unchecked.set(place, unchecked)
    else this.#unchecked.delete(place)
  }

  async #waitMs(area: Area, place: string) {
    const until = this.#lockedUntil.get(place)
    if (until === undefined) return 0
    const waitMs = until - this.#now()
    if (waitMs > 0) return waitMs
    this.#lockedUntil.delete(place)
    await this.#limiters[area].delete(place)
    return 0
  }

  async #countWrong(area: Area, place: string) {
    try {
      await this.#limiters[area].consume(place)
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error
      if (!this.#lockedUntil.has(place)) this.#options.onLocked(place)
      this.#forgetEnded()
      this.#lockedUntil.set(place, this.#now() + error.msBeforeNext)
    }
  }

  /** The oldest lock comes first, and all locks are about as long. */
  #forgetEnded() {
    for (const [place, until] of this.#lockedUntil) {
      if (until > this.#now()) break
      this.#lockedUntil.delete(place)
    }
  }

  #remember(credential: string) {
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.add(credential)
  }
}

/** API keys of our form, tokens of runs and of sessions. The scheme has any case, as in the routes. */
const OURS = /^[Bb][Ee][Aa][Rr][Ee][Rr] (am[kr]_[\w-]+|ams_[\w.-]+)$/
/** The path of an agent's callback. */
const CALLBACK = /^\/v1\/agents\/[^/]+\/messages\/([^/]+)\/response$/

const isSignIn = (path: string) => /^\/console\/(sign-in|enter)$/.test(path)

class Connection {
  readonly #socket: Bindings['incoming']['socket']

  constructor(socket: Bindings['incoming']['socket']) {
    this.#socket = socket
  }

  get aborted(): boolean {
    return this.#socket.destroyed
  }
}

/** A request whose credential is not known. */
type Attempt = {
  readonly request: Request
  readonly bindings: Bindings
  readonly path: string
  readonly area: Area
  readonly credential: string | null
  /** The address of the caller. */
  readonly caller: string
}

function addressBehind(proxies: readonly string[]): (incoming: Bindings['incoming']) => string {
  const isTrusted = proxyAddress.compile([...proxies])
  // The library reads the socket and the headers, and asks for the whole request.
  return (incoming) => proxyAddress(incoming as IncomingMessage, isTrusted)
}

/** Some proxies add the caller's port: `203.0.113.1:5678`, `[2001:db8::1]:5678`. */
const PORT = /(?<=^(?:\d+\.){3}\d+|^\[[\da-f:.]+\]):\d+$/i

const placeOf = (area: Area, caller: string) => `${area} ${networkOf(caller)}`

/** Returns an IPv4 address, or the /64 network of an IPv6 address, which one host can use whole. */
function networkOf(caller: string) {
  const address = caller.replace(PORT, '').replace(/^\[(.*)\]$/, '$1')
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv6'
    ? `${(parsed as ipaddr.IPv6).parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : parsed.toString()
}

function tooMany(area: Area, seconds: number) {
  const message = `Your address sent too many wrong credentials. Try again in ${seconds} s`
  if (area === 'api') return refusal(429, { code: 'TOO_MANY_REQUESTS', message }, seconds)
  return new Response(`${message}.\n`, { status: 429, headers: headersOf(seconds) })
}

const overloaded = (error: Unavailable) =>
  refusal(503, { code: 'UNAVAILABLE', message: textOf(error) }, retrySecondsOf(error))

function refusal(status: number, error: object, seconds: number) {
  const requestId = randomUUID()
  const headers = { ...headersOf(seconds), 'X-Request-Id': requestId }
  return Response.json({ error, requestId }, { status, headers })
}

const headersOf = (seconds: number) => ({
  'Cache-Control': 'no-store',
  'Retry-After': String(seconds),
})
