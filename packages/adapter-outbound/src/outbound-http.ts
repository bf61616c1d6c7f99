import { err, ok, type Result } from 'neverthrow'
import { hostOf, type AddressGuard } from './address-guard.js'
import { CollectedAnswer, type Answer, type HttpOutcome } from './answer.js'
import { dialer, vettedAddresses } from './dial.js'
import { Exchange, GIVEN_UP, type HttpRequest } from './exchange.js'
import { Fault, unreachable, type Unreachable } from './fault.js'
import { originPools } from './origins.js'
import { hostResolver } from './resolve-host.js'
import { StreamedAnswer, type HttpStream, type StreamRequest } from './streamed-answer.js'

/**
 * All requests that leave the service. Every connection goes to an address that the guard allowed at the moment of
 * dialling; redirects are answers, never followed.
 */
export type OutboundHttp = {
  /** Never rejects and never outlives the request's deadline. */
  send(request: HttpRequest): Promise<HttpOutcome>
  /** As `send`, but settles with the head of the answer; its body comes as it is read, and its sender waits for its reader. */
  stream(request: StreamRequest): Promise<HttpStream | Unreachable>
  /**
   * Whether requests may go to `url` as things are; the error is the rest of a sentence that begins with the field's name.
   * A name that does not resolve yet may be registered: what it resolves to is judged again at every dial.
   */
  vet(url: string): Promise<Result<void, string>>
  /** Ends what is under way, and closes every connection: that and later requests are `interrupted`. */
  close(): Promise<void>
}

export type OutboundOptions = {
  readonly guard: AddressGuard
  /**
   * Connections to one origin; requests beyond wait, and their deadlines run. As many as are asked for if absent: deliveries under way and
   * each agent's `concurrency` have limits of their own, and one beneath would let an agent's long answers hold up the others at its host.
   */
  readonly connectionsPerOrigin?: number
  /** Origins whose idle connections are kept. */
  readonly maxOrigins?: number
  /** For name, TCP and TLS of one connection. */
  readonly connectTimeoutMs?: number
  /** Name servers such as `10.0.0.2` or `127.0.0.1:5353`, instead of the system's. */
  readonly dnsServers?: readonly string[]
  /** PEM of the certificate authorities to trust, instead of Node's own. */
  readonly ca?: string | readonly string[]
}

const VET_TIMEOUT_MS = 5_000
const STOPPING = unreachable('interrupted', 'the service is stopping')
const USER_AGENT = 'agent-messaging'

export function outboundHttp(options: OutboundOptions): OutboundHttp {
  const {
    guard,
    connectionsPerOrigin = Infinity,
    maxOrigins = 1_000,
    connectTimeoutMs: timeoutMs = 10_000,
    ca,
  } = options
  const resolve = hostResolver({ ...(options.dnsServers && { servers: options.dnsServers }) })
  const origins = originPools(
    dialer({ guard, resolve, timeoutMs, ...(ca !== undefined && { ca }) }),
    { connectionsPerOrigin, maxOrigins },
  )
  let isClosed = false

  function begin(request: HttpRequest, answer: Answer): void {
    if (isClosed) return answer.fail(STOPPING)
    if (request.signal?.aborted) return answer.fail(GIVEN_UP)
    const checked = guard.checkUrl(request.url)
    if (checked.isErr())
      return answer.fail(unreachable('address_blocked', `the URL ${checked.error}`))
    const { origin, pathname, search } = checked.value
    const pool = origins.use(origin)
    const identified = { ...request, headers: { 'user-agent': USER_AGENT, ...request.headers } }
    pool.start(
      new Exchange(identified, pathname + search, answer, (exchange, isComplete) =>
        pool.ended(exchange, isComplete),
      ),
    )
  }

  async function vet(text: string): Promise<Result<void, string>> {
    const checked = guard.checkUrl(text)
    if (checked.isErr()) return err(checked.error)
    try {
      await vettedAddresses(
        { guard, resolve },
        hostOf(checked.value),
        AbortSignal.timeout(VET_TIMEOUT_MS),
      )
      return ok(undefined)
    } catch (error) {
      const isBlocked = error instanceof Fault && error.outcome.error === 'address_blocked'
      return isBlocked
        ? err('must not lead to a private or reserved address that this service does not allow')
        : ok(undefined)
    }
  }

  async function close(): Promise<void> {
    isClosed = true
    await origins.close(STOPPING)
  }

  return {
    send: (request) =>
      new Promise((settle) => begin(request, new CollectedAnswer(request.maxBodyBytes, settle))),
    stream: (request) =>
      new Promise((settle) => begin(request, new StreamedAnswer(request, settle))),
    vet,
    close,
  }
}
