import { Resolver } from 'node:dns/promises'
import { isLocalhost } from './address-guard.js'
import { Fault } from './fault.js'
import { readFile } from 'node:fs/promises'

/**
 * Returns at least one address, IPv4 first. Rejects with a `dns` `Fault` or the signal's reason.
 */
export type ResolveHost = (name: string, signal: AbortSignal) => Promise<readonly string[]>

export type ResolverOptions = {
  /** Name servers such as `127.0.0.1:5353`. The default is the system's. */
  readonly servers?: readonly string[]
  /** The file with search domains. The default is the system's, or none with `servers`. */
  readonly settingsFile?: string
}

const SYSTEM_SETTINGS = '/etc/resolv.conf'
/** The timeout of the first query to one server. The second try waits twice as long. */
const TRY_TIMEOUT_MS = 2_000
const TRIES = 2

/**
 * Queries name servers directly, because `dns.lookup` cannot be cancelled and blocks one of libuv's
 * four threads while a name server hangs. Completes short names with the search domains, as the
 * system does. Ignores the hosts file, except for `localhost`.
 */
export function hostResolver({ servers, settingsFile }: ResolverOptions): ResolveHost {
  const newResolver = () => {
    const resolver = new Resolver({ timeout: TRY_TIMEOUT_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    return resolver
  }
  newResolver() // Throws now if a server is not an IP address.
  const file = settingsFile ?? (servers ? undefined : SYSTEM_SETTINGS)

  return async (name, signal) => {
    if (isLocalhost(name)) return ['127.0.0.1', '::1']
    signal.throwIfAborted()
    // Read each time, as the servers are: the file changes with the network.
    const names = file === undefined ? [name] : namesToAsk(name, await searchSettingsIn(file))
    const failures: string[] = []
    for (const asked of names) {
      // After a silent server, only the name itself is still worth a wait.
      if (failures.includes(SILENT) && asked !== name) continue
      const answer = await ask(newResolver(), asked, signal)
      if (typeof answer !== 'string') return answer
      failures.push(answer)
    }
    throw new Fault('dns', `the name does not resolve (${worstOf(failures)})`)
  }
}

/**
 * Returns the addresses of a complete name, or the code of the failure. Uses up the resolver,
 * because `cancel` ends all queries of one.
 */
async function ask(
  resolver: Resolver,
  name: string,
  signal: AbortSignal,
): Promise<readonly string[] | string> {
  signal.throwIfAborted()
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  signal.removeEventListener('abort', cancel)
  signal.throwIfAborted()
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  return addresses.length > 0 ? addresses : failureOf(answers)
}

/** `ENOTFOUND`: no such name. `ENODATA`: no addresses. Other codes: the name servers failed. */
function failureOf(answers: readonly PromiseSettledResult<unknown>[]) {
  const failed = answers.find((answer) => answer.status === 'rejected')
  return failed ? String((failed.reason as { code?: unknown }).code) : 'no addresses'
}

const SILENT = 'ETIMEOUT'
const NO_SUCH_NAME = 'ENOTFOUND'

/** A name that does not exist in one domain says less than a failure in another. */
const worstOf = (failures: readonly string[]) =>
  failures.find((failure) => failure !== NO_SUCH_NAME) ?? NO_SUCH_NAME

/** The part of the resolver settings that completes short names, such as in Kubernetes. */
type SearchSettings = { readonly domains: readonly string[]; readonly ndots: number }

/** As in resolv.conf(5). */
const DEFAULT_NDOTS = 1
const MAX_NDOTS = 15

/** Reads `search`, `domain` and `ndots`. A file that is missing sets nothing. */
const searchSettingsIn = async (file: string) =>
  parseSettings(await readFile(file, 'utf8').catch(() => ''))

/** The last `search` or `domain` counts. */
function parseSettings(text: string): SearchSettings {
  let domains: string[] = []
  let ndots = DEFAULT_NDOTS
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/)
    if (keyword === 'search') domains = values
    if (keyword === 'domain') domains = values.slice(0, 1)
    if (keyword === 'options')
      for (const value of values) {
        const [, digits] = /^ndots:(\d+)$/.exec(value) ?? []
        if (digits !== undefined) ndots = Math.min(Number(digits), MAX_NDOTS)
      }
  }
  const absolute = domains.map((domain) => domain.replace(/\.$/, ''))
  return { domains: absolute.filter((domain) => domain !== ''), ndots }
}

/**
 * Returns the names to ask for, in order. A name with fewer than `ndots` dots is asked in the
 * search domains first. A name that ends with a dot is complete.
 */
function namesToAsk(name: string, { domains, ndots }: SearchSettings): readonly string[] {
  if (name.endsWith('.')) return [name]
  const completed = domains.map((domain) => `${name}.${domain}`)
  const dots = name.split('.').length - 1
  return dots < ndots ? [...completed, name] : [name, ...completed]
}
