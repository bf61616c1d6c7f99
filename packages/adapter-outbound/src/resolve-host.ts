import { Resolver } from 'node:dns/promises'
import { isLocalhost } from './address-guard.js'
import { Fault } from './fault.js'

/**
 * Returns at least one address, IPv4 first. Rejects with a `dns` `Fault` or the signal's reason.
 */
export type ResolveHost = (name: string, signal: AbortSignal) => Promise<readonly string[]>

export type ResolverOptions = {
  /** Name servers such as `127.0.0.1:5353`. The default is the system's. */
  readonly servers?: readonly string[]
}

/** The timeout of the first query to one server. The second try waits twice as long. */
const TRY_TIMEOUT_MS = 2_000
const TRIES = 2

/**
 * Queries name servers directly, because `dns.lookup` cannot be cancelled and blocks one of libuv's
 * four threads while a name server hangs. Ignores the hosts file, except for `localhost`, and
 * search domains. Each call has its own resolver, because `cancel` ends all queries of one.
 */
export function hostResolver({ servers }: ResolverOptions): ResolveHost {
  const newResolver = () => {
    const resolver = new Resolver({ timeout: TRY_TIMEOUT_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    return resolver
  }
  newResolver() // Throws now if a server is not an IP address.
  return async (name, signal) => {
    if (isLocalhost(name)) return ['127.0.0.1', '::1']
    signal.throwIfAborted()
    const resolver = newResolver()
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    signal.removeEventListener('abort', cancel)
    signal.throwIfAborted()
    const addresses = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    )
    if (addresses.length === 0)
      throw new Fault('dns', `the name does not resolve (${failureOf(answers)})`)
    return addresses
  }
}

/** `ENOTFOUND`: no such name. `ENODATA`: no addresses. Other codes: the name servers failed. */
function failureOf(answers: readonly PromiseSettledResult<unknown>[]): string {
  const failed = answers.find((answer) => answer.status === 'rejected')
  return failed ? String((failed.reason as { code?: unknown }).code) : 'no addresses'
}
