import { err, ok, type Result } from 'neverthrow'
import { Recent } from '../domain/values/recent.js'
import type { SendLimits } from '../domain/access/send-limit.js'
import type { Platform } from '../platform.js'
import type { Unavailable } from '../ports/stored.js'

const MOST_PROJECTS = 10_000
/** A change of a project's limits reaches every process within this time. */
const FRESH_MS = 1_000

type Known = { readonly limits: SendLimits | undefined; readonly until: number }

/** The limits that projects have instead of the defaults, read within the last second. */
export class ProjectLimits {
  readonly #platform: Pick<Platform, 'clock' | 'storage'>
  readonly #known = new Recent<Known>(MOST_PROJECTS)

  constructor(platform: Pick<Platform, 'clock' | 'storage'>) {
    this.#platform = platform
  }

  async of(projectId: string): Promise<Result<SendLimits | undefined, Unavailable>> {
    const { clock, storage } = this.#platform
    const known = this.#known.get(projectId)
    const elapsed = clock.elapsed()
    if (known && known.until > elapsed) return ok(known.limits)
    const found = await storage.credentials.getProject(projectId)
    if (!found.ok) return err(found.error)
    const limits = found.value?.sendLimits
    this.#known.set(projectId, { limits, until: elapsed + FRESH_MS })
    return ok(limits)
  }
}
