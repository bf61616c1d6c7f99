import { err, ok, type Result } from 'neverthrow'
import { broken, type Invalid } from '../domain/values/input-rules.js'
import { valueRule } from '../domain/values/setting.js'
import { EVENT_NAMES, type SubscribableEvent } from '../domain/webhooks/event.js'
import type { Platform } from '../platform.js'
import { CLOSED, type Unavailable } from '../ports/stored.js'
import { EventListener, type ListenInput } from './event-listener.js'
import type { readEvents } from './read-events.js'

export type Listening = {
  /** Waits for the handler, for 10 seconds at most. Another process can then take over. */
  stop(): Promise<void>
}

const GRACE_MS = 10_000

/** The listeners of this process. */
export class EventListeners {
  readonly #context: ConstructorParameters<typeof EventListener>[0]
  readonly #listeners = new Set<EventListener>()
  #isStarted = false

  constructor(platform: Platform, read: ReturnType<typeof readEvents>) {
    this.#context = { ...platform, read }
  }

  /** `EventCalls.on`. */
  readonly on = <N extends SubscribableEvent>(
    typed: ListenInput<N>,
  ): Result<Listening, Invalid | Unavailable> => {
    const input = typed as unknown as ListenInput
    const problem = rulesBrokenBy(input)
    if (problem) return problem
    if (this.#context.stopping.aborted) return err({ kind: 'unavailable', reason: CLOSED })
    const listener = new EventListener(this.#context, input)
    this.#listeners.add(listener)
    if (this.#isStarted) listener.start()
    return ok({
      stop: async () => {
        this.#listeners.delete(listener)
        await listener.stop(GRACE_MS)
      },
    })
  }

  start(): void {
    this.#isStarted = true
    for (const listener of this.#listeners) listener.start()
  }

  /** Begins with the events that are due. Returns the work of each listener that has any. */
  async tick(): Promise<Promise<void>[]> {
    return (await Promise.all([...this.#listeners].map((listener) => listener.begin()))).flat()
  }

  /** Ends a pass. Other processes can take over, unless this one was started. */
  async rest(): Promise<void> {
    if (!this.#isStarted) await Promise.all([...this.#listeners].map((one) => one.rest()))
  }

  async stop(graceMs: number): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener.stop(graceMs)))
  }
}

const rulesBrokenBy = ({ events, handler, name, from = 'now' }: ListenInput) => {
  const isFunction = typeof handler === 'function'
  const names = { type: 'string', enum: EVENT_NAMES } as const
  return broken({
    events: valueRule({ type: 'array', items: names, minItems: 1 }, [events].flat()),
    handler: isFunction ? undefined : 'must be a function',
    name: valueRule({ type: 'string', maxLength: 256 }, name),
    from: valueRule({ type: 'string', enum: ['now', 'oldest'] }, from),
  })
}
