import { Resolver } from 'node:dns/promises'
import { isLocalhost } from './address-guard.js'
import { Fault } from './fault.js'

/** All addresses of a name, IPv4 first, never none. Rejects with a `Fault` of class `dns`, or with the signal's reason. */
export type ResolveHost = (name: string, signal: AbortSignal) => Promise<readonly string[]>

export type ResolverOptions = {
  /** `127.0.0.1:5353`; the system's when absent. */
  readonly servers?: readonly string[]
}

/** Of one question to one server; the second try waits twice as long. */
const TRY_TIMEOUT_MS = 2_000
const TRIES = 2

/**
 * Asks name servers itself. `dns.lookup` would block one of libuv's four threads for as long as a name server hangs, and
 * cannot be cancelled. The price: of the hosts file only `localhost` is known, and search domains are not tried.
 * Each call has a resolver of its own, so that cancelling one question cancels no other.
 */
export function hostResolver({ servers }: ResolverOptions): ResolveHost {
  const newResolver = () => {
    const resolver = new Resolver({ timeout: TRY_TIMEOUT_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    return resolver
  }
  newResolver() // throws at once for a server that is no address
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

/** `ENOTFOUND`: no such name. `ENODATA`: no address for it. Others: the name servers failed. */
function failureOf(answers: readonly PromiseSettledResult<unknown>[]): string {
  const failed = answers.find((answer) => answer.status === 'rejected')
  return failed ? String((failed.reason as { code?: unknown }).code) : 'no addresses'
}
