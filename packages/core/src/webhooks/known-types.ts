import { err, ok, type Result } from 'neverthrow'
import type { Invalid } from '../domain/values/input-rules.js'
import { Recent } from '../domain/values/recent.js'
import { typeIssues, type EventType, type TypedData } from '../domain/webhooks/event-type.js'
import type { HostTransaction } from '../ports/storage.js'
import type { Platform } from '../platform.js'
import type { Unavailable } from '../ports/stored.js'

/** A change of a type reaches every process within this time. */
const FRESH_MS = 1_000
const MOST_KNOWN = 1_000

type Known = { readonly type: EventType | undefined; readonly until: number }

/** The types that publishes named within the last second. Most publishes read none. */
export class KnownTypes {
  readonly #platform: Pick<Platform, 'clock' | 'policy' | 'storage'>
  #known = new Recent<Known>(MOST_KNOWN)

  constructor(platform: Pick<Platform, 'clock' | 'policy' | 'storage'>) {
    this.#platform = platform
  }

  forget(): void {
    this.#known = new Recent(MOST_KNOWN)
  }

  /**
   * Refuses events whose types are not in the catalogue, or whose data does not match. Accepts all
   * unless `policy.strictEventTypes` is set. `within`: the path of an event in its request, with a
   * dot.
   */
  async check(
    projectId: string,
    events: readonly TypedData[],
    within: (index: number) => string = () => '',
    store: HostTransaction['eventTypes'] = this.#platform.storage.eventTypes,
  ): Promise<Result<void, Invalid | Unavailable>> {
    if (!this.#platform.policy.strictEventTypes) return ok(undefined)
    const types = await this.#read(projectId, new Set(events.map(({ type }) => type)), store)
    if (types.isErr()) return err(types.error)
    const issues = typeIssues(events, types.value, within)
    return issues.length === 0 ? ok(undefined) : err({ kind: 'invalid', issues })
  }

  async #read(projectId: string, names: ReadonlySet<string>, store: HostTransaction['eventTypes']) {
    const { clock } = this.#platform
    const elapsed = clock.elapsed()
    const types = new Map<string, EventType | undefined>()
    for (const name of names) {
      const known = this.#known.get(`${projectId} ${name}`)
      if (known && known.until > elapsed) types.set(name, known.type)
    }
    const unknown = [...names].filter((name) => !types.has(name))
    if (unknown.length === 0) return ok(types)
    const found = await store.find(projectId, unknown)
    if (!found.ok) return err(found.error)
    for (const name of unknown) {
      const type = found.value.find((one) => one.name === name)
      types.set(name, type)
      this.#known.set(`${projectId} ${name}`, { type, until: elapsed + FRESH_MS })
    }
    return ok(types)
  }
}
