import { ok, safeTry } from 'neverthrow'
import { DAY_MS, startOf } from '../domain/counts.js'
import type { Instant } from '../domain/instant.js'
import type { PeoplePlace, ProjectPeople } from '../ports/counts-store.js'
import type { Stored } from '../ports/stored.js'
import type { Platform } from '../platform.js'

/** A commit with messages of a day can be that late. */
const LATE_MS = 300_000
/** People that one statement reads: 3 ms of SQLite's time. */
const PAGE = 1_000
const MOST_STEPS = 100
/** Projects whose people are stored in one commit. */
const MOST_KEPT = 100

/** The messages before `until` can be purged. */
export type PeopleCounted = { readonly until: Instant; readonly isDone: boolean }

/**
 * Counts the people of each project and day (UTC) that is over. After a stop, the counting goes on
 * at the stored place.
 */
export class PeopleCounting {
  readonly #d: Pick<Platform, 'storage' | 'clock' | 'telemetry'>
  #place: PeoplePlace = { until: 0, after: '' }
  /** Projects after the place, not stored yet. */
  #counted: ProjectPeople[] = []
  /** The people of the project after them, up to the person `#after`. */
  #people = 0
  #after: string | undefined

  constructor(d: Pick<Platform, 'storage' | 'clock' | 'telemetry'>) {
    this.#d = d
  }

  /** Does a few steps. */
  async tick(): Promise<PeopleCounted> {
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      const hasMore = await this.#step()
      if (hasMore.isErr()) {
        this.#d.telemetry.record({ name: 'store.unavailable', reason: hasMore.error.reason })
        return { until: -Infinity, isDone: true }
      }
      if (!hasMore.value) return { until: this.#place.until, isDone: true }
    }
    return { until: this.#place.until, isDone: false }
  }

  /** Returns false if nothing is left, or if another process is faster. */
  #step(): Stored<boolean> {
    const { storage, clock } = this.#d
    return safeTry(
      async function* (this: PeopleCounting) {
        const place = yield* storage.counts.peoplePlace()
        if (place.until !== this.#place.until || place.after !== this.#place.after)
          this.#begin(place)
        const today = startOf(clock.now() - LATE_MS, DAY_MS)
        if (place.until === today) return ok(false)
        // At first, or after the clock was set back. The next days are then counted again.
        if (place.until === 0 || place.until > today)
          return ok(yield* this.#keep({ until: today, after: '' }))
        const cursor = this.#counted.at(-1)?.projectId ?? place.after
        const [project] = (yield* storage.credentials.listProjects({ limit: 1, cursor })).data
        if (!project) return ok(yield* this.#keep({ until: place.until + DAY_MS, after: '' }))
        const page = yield* storage.counts.people({
          projectId: project.id,
          day: place.until,
          after: this.#after,
          limit: PAGE,
        })
        this.#people += page.people
        this.#after = page.next
        if (page.next !== undefined) {
          await clock.sleep(0)
          return ok(true)
        }
        this.#counted.push({ projectId: project.id, people: this.#people })
        this.#people = 0
        if (this.#counted.length < MOST_KEPT) return ok(true)
        return ok(yield* this.#keep({ until: place.until, after: project.id }))
      }.bind(this),
    )
  }

  #keep(to: PeoplePlace): Stored<boolean> {
    return this.#d.storage.counts.keepPeople({ from: this.#place, to, counted: this.#counted })
  }

  #begin(place: PeoplePlace): void {
    this.#place = place
    this.#counted = []
    this.#people = 0
    this.#after = undefined
  }
}
