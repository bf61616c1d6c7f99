import type { ResultAsync } from 'neverthrow'
import type { Instant } from '../domain/values/instant.js'
import type { EventOf, SubscribableEvent } from '../domain/webhooks/event.js'
import { cursorOf } from '../domain/webhooks/log-cursor.js'
import { createLoop, type Loop } from '../pacing/loop.js'
import { reportUnavailable } from '../pacing/report-unavailable.js'
import type { Platform } from '../platform.js'
import type { Unavailable } from '../ports/stored.js'
import type { EventOfLog, ReadEventsError, readEvents } from './read-events.js'
import { chain } from '../pacing/chain.js'

export type ListenInput<N extends SubscribableEvent = SubscribableEvent> = {
  readonly projectId: string
  readonly events: N | readonly N[]
  readonly handler: EventHandler<N>
  /** A name has one position in the log of its project. */
  readonly name: string
  /** Where the first start of the name begins. Default: now. */
  readonly from?: 'now' | 'oldest' | undefined
}

export type EventHandler<N extends SubscribableEvent> = (
  event: EventOf<N>,
  context: {
    /** Counts the calls of this process for the event, from 1. */
    readonly attempt: number
    /**
     * Aborts at the end of a stop, and if another process has taken over. A handler has no other
     * limit of time, and later events wait for it.
     */
    readonly signal: AbortSignal
  },
) => void | Promise<void>

type Context = Platform & { readonly read: ReturnType<typeof readEvents> }

/** The pauses after failed attempts with an event. The last one repeats. */
const PAUSES_MS = [1_000, 5_000, 30_000]
const LONGEST_PAUSE_MS = 60_000
/** The position is stored after this number of handled events, or after this time. */
const GROUP = 100
const GROUP_MS = 1_000

/** `retryAt` is in elapsed time. */
type Failure = { readonly eventId: string; readonly attempt: number; readonly retryAt: number }

/**
 * Calls a handler for the events of a project's log, one by one. Of all listeners with one name, the
 * holder of the lease works. Another one takes over when the lease ends.
 */
export class EventListener {
  readonly #context: Context
  readonly #input: ListenInput
  readonly #names: ReadonlySet<string>
  readonly #owner: string
  readonly #createdAt: Instant
  /** The end of the log at the creation. Undefined: not needed, or the storage was away. */
  readonly #end: Promise<number | undefined>
  readonly #loop: Loop
  #stopHearing = (): void => undefined
  /** The place after the last handled event. Undefined: the stored place. */
  #cursor: string | undefined
  /** When the place was stored and the lease extended, in elapsed time. Undefined: not held. */
  #savedAt: number | undefined
  /** Handled events after the stored place. */
  #unsaved = 0
  #failure: Failure | undefined
  #isBusy = false
  /** When the last page was asked for, in elapsed time. */
  #readAt = 0
  #work: Promise<void> | undefined
  #handling: AbortController | undefined
  #isStopping = false

  constructor(context: Context, input: ListenInput) {
    this.#context = context
    this.#input = input
    this.#names = new Set<string>([input.events].flat())
    this.#owner = context.ids.next()
    this.#createdAt = context.clock.now()
    this.#end =
      input.from === 'oldest'
        ? Promise.resolve(undefined)
        : this.#positionAt(Number.MAX_SAFE_INTEGER)
    this.#loop = createLoop(context, 'listener', context.policy.pollMs, async () => {
      await Promise.all(await this.begin())
    })
  }

  start(): void {
    this.#stopHearing = this.#context.eventNews.listen((projectId) => {
      if (projectId === this.#input.projectId && this.#savedAt !== undefined) this.#loop.wake()
    })
    this.#loop.start()
  }

  /** Begins with the events that are due. Returns the work, if there are any. */
  async begin(): Promise<Promise<void>[]> {
    if (this.#isBusy || this.#isStopping) return []
    this.#isBusy = true
    const events = await this.#due().catch((thrown: unknown) => {
      this.#isBusy = false
      throw thrown
    })
    if (this.#isStopping) {
      this.#isBusy = false
      await this.rest()
      return []
    }
    this.#work = this.#handleAll(events).finally(() => {
      this.#isBusy = false
    })
    return events.length === 0 ? [] : [this.#work]
  }

  /** Stores the place, and releases the lease unless the handler runs. */
  async rest(): Promise<void> {
    if (this.#savedAt === undefined) return
    if (this.#isBusy) return void (await this.#save())
    // Nothing begins before the lease is released.
    this.#isBusy = true
    await this.#save(0)
    this.#savedAt = undefined
    this.#isBusy = false
  }

  /** Starts nothing more. The handler gets `graceMs` to end, and is then aborted. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#stopHearing()
    const idle = new AbortController()
    void Promise.all([this.#loop.stop(), this.#work]).then(() => idle.abort())
    await this.#context.clock.sleep(graceMs, idle.signal)
    this.#handling?.abort('stopped')
    await this.rest()
    // A handler that goes on keeps the lease until its end, or until the lease expires.
    if (this.#savedAt !== undefined) void this.#work?.then(() => this.rest())
  }

  async #due(): Promise<readonly EventOfLog[]> {
    const { clock, read, telemetry } = this.#context
    const { name: listener, projectId } = this.#input
    const isHeld = clock.elapsed() < this.#saveAt || (await this.#save())
    if (!isHeld || clock.elapsed() < (this.#failure?.retryAt ?? 0)) return []
    this.#readAt = clock.elapsed()
    const page = await read({ projectId, after: this.#cursor, limit: GROUP })
    if (page.isOk()) return page.value.data
    if (page.error.kind === 'event_cursor_expired') {
      telemetry.record({ name: 'listener.expired', listener, projectId })
      this.#cursor = await this.#oldest()
    }
    return []
  }

  /** When the place must be stored or the lease extended, in elapsed time. */
  get #saveAt(): number {
    if (this.#savedAt === undefined || this.#unsaved >= GROUP) return -Infinity
    return this.#savedAt + (this.#unsaved > 0 ? GROUP_MS : this.#extendMs)
  }

  get #extendMs(): number {
    return this.#context.policy.runLeaseMs / 3
  }

  /**
   * Handles the events of a page for a second, and at least one however long the read took. Later
   * events can have been erased since.
   */
  async #handleAll(events: readonly EventOfLog[]): Promise<void> {
    let end = Infinity
    for (const event of events) {
      if (this.#isStopping || this.#context.clock.elapsed() >= Math.min(this.#saveAt, end)) break
      if (this.#names.has(event.name)) {
        if (!(await this.#handle(event))) return
        end = this.#readAt + GROUP_MS
      }
      this.#cursor = event.cursor
    }
    if (events.length > 0) this.#loop.wake()
  }

  /** Returns true if the event was handled, and this process still holds the listener. */
  async #handle(event: EventOfLog): Promise<boolean> {
    const attempt = this.#failure?.eventId === event.id ? this.#failure.attempt + 1 : 1
    const handling = new AbortController()
    const ended = new AbortController()
    handling.signal.addEventListener('abort', () => ended.abort())
    this.#handling = handling
    const extended = this.#extendUntil(ended.signal)
    const error = await this.#call(event, attempt, handling.signal)
    ended.abort()
    await extended
    this.#handling = undefined
    if (this.#savedAt === undefined) return false
    this.#failure = undefined
    if (error === undefined) this.#unsaved++
    else this.#fail(event, attempt, error)
    return error === undefined
  }

  /** Returns the name of the error if the handler fails. */
  async #call(
    event: EventOfLog,
    attempt: number,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      await this.#input.handler(JSON.parse(event.body), { attempt, signal })
      return undefined
    } catch (error) {
      return error instanceof Error ? error.name : typeof error
    }
  }

  #fail({ id: eventId, name: event }: EventOfLog, attempt: number, error: string): void {
    const { clock, telemetry } = this.#context
    const { name: listener, projectId } = this.#input
    const pause = PAUSES_MS[attempt - 1] ?? LONGEST_PAUSE_MS
    this.#failure = { eventId, attempt, retryAt: clock.elapsed() + pause }
    const ids = { listener, projectId, eventId, event }
    telemetry.record({ name: 'listener.failed', ...ids, attempt, error })
  }

  async #extendUntil(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await this.#context.clock.sleep(this.#extendMs, ended)
      if (!ended.aborted) await this.#save()
    }
  }

  /** Claims or extends the lease, and stores the place. Returns true if this process holds it. */
  async #save(leaseMs = this.#context.policy.runLeaseMs): Promise<boolean> {
    const { clock, storage } = this.#context
    await clock.jumping
    const now = clock.now()
    const { projectId, name, from } = this.#input
    const [cursor, unsaved] = [this.#cursor, this.#unsaved]
    const step = { projectId, name, owner: this.#owner, now, until: now + leaseMs, cursor }
    const stored = await this.#valueOf(chain(storage.events.listen(step)))
    if (stored === undefined) return false
    if (stored === 'new') {
      this.#cursor = await (from === 'oldest' ? this.#oldest() : this.#now())
      return this.#cursor !== undefined && this.#save(leaseMs)
    }
    if (stored === 'held') return this.#lose()
    if (stored.cursor !== cursor) {
      // The lease had ended, and another process has gone on.
      if (this.#handling) return this.#lose()
      this.#cursor = stored.cursor
      this.#failure = undefined
    }
    this.#unsaved -= unsaved
    this.#savedAt = clock.elapsed()
    return true
  }

  #lose(): false {
    this.#cursor = undefined
    this.#savedAt = undefined
    this.#unsaved = 0
    this.#failure = undefined
    this.#handling?.abort('another process has the listener')
    return false
  }

  async #oldest(): Promise<string | undefined> {
    const { projectId } = this.#input
    return (await this.#valueOf(this.#context.read({ projectId, limit: 0 })))?.nextCursor
  }

  /**
   * The place at the creation of the listener, so that it hears what the host does next. An event
   * that was created before and committed afterwards comes too.
   */
  async #now(): Promise<string | undefined> {
    const before = await this.#positionAt(this.#createdAt)
    if (before === undefined) return undefined
    const position = Math.min(before, (await this.#end) ?? before)
    return cursorOf(this.#input.projectId, { position })
  }

  #positionAt(createdBefore: Instant): Promise<number | undefined> {
    const { projectId } = this.#input
    const { events } = this.#context.storage
    return this.#valueOf(chain(events.positionAt({ projectId, createdBefore })))
  }

  /** Returns undefined if the storage is unavailable. */
  async #valueOf<T>(answer: ResultAsync<T, Unavailable | ReadEventsError>): Promise<T | undefined> {
    const result = await answer
    if (result.isOk()) return result.value
    if (result.error.kind === 'unavailable') reportUnavailable(this.#context, result.error)
    return undefined
  }
}
