import { readFile } from 'node:fs/promises'

/** The part of the resolver settings that completes short names, such as in Kubernetes. */
export type SearchSettings = { readonly domains: readonly string[]; readonly ndots: number }

/** As in resolv.conf(5). */
const DEFAULT_NDOTS = 1
const MAX_NDOTS = 15

/** Reads `search`, `domain` and `ndots`. A file that is missing sets nothing. */
export const searchSettingsIn = async (file: string): Promise<SearchSettings> =>
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
export function namesToAsk(name: string, { domains, ndots }: SearchSettings): readonly string[] {
  if (name.endsWith('.')) return [name]
  const completed = domains.map((domain) => `${name}.${domain}`)
  const dots = name.split('.').length - 1
  return dots < ndots ? [...completed, name] : [name, ...completed]
}
