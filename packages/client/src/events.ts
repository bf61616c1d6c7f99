import { segment } from './http.js'
import { listOf, type List, type PageInput } from './pages.js'
import type { ListedEvent, NewEvent, Story } from './resources.js'
import type { PublishedEvent, WebhookEvent } from './webhooks/events.js'
import type { Http } from './http.js'

/** An event of the log. Continue after it with its `cursor`. */
export type LoggedEvent = { readonly cursor: string; readonly event: WebhookEvent | PublishedEvent }
export type EventLogPage = { readonly data: readonly LoggedEvent[]; readonly nextCursor: string }

export type EventFilter = {
  /** A type or the name of an event, or a group such as `order.*`. */
  readonly type?: string
  /** True leaves out the events of the service. */
  readonly published?: boolean
  readonly createdAfter?: string
  readonly createdBefore?: string
}

type Read = {
  /** A cursor of an event or page. Absent: the oldest event. */
  readonly after?: string
  readonly limit?: number
  /** True to get the parts of answers too. */
  readonly parts?: boolean
  /** Seconds to wait for an event, at most 60. */
  readonly wait?: number
  readonly signal?: AbortSignal
}

type PublishOptions = {
  /** One key publishes once. By default each call has a new key for all its retries. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** The time that each request of `follow` waits. */
const WAIT_SECONDS = 30

/** The log of events. Needs the permission `project:events`. */
export function eventsOf(http: Http) {
  const read = ({ signal, ...query }: Read = {}): Promise<EventLogPage> =>
    http.json({ method: 'GET', path: '/v1/events', query, ...(signal && { signal }) })

  const publish = <T>(body: object, options: PublishOptions = {}): Promise<T> => {
    const { idempotencyKey = crypto.randomUUID(), signal } = options
    const headers = { 'idempotency-key': idempotencyKey }
    return http.json({ method: 'POST', path: '/v1/events', body, headers, signal, retryable: true })
  }

  return {
    /** Publishes an event. Needs the permission `project:publish`. */
    publish: (event: NewEvent, options?: PublishOptions): Promise<{ readonly id: string }> =>
      publish(event, options),
    /** Publishes up to 100 events: all or none. */
    publishBatch: (
      events: readonly NewEvent[],
      options?: PublishOptions,
    ): Promise<{ readonly data: readonly { readonly id: string }[] }> =>
      publish({ events }, options),
    get: (id: string): Promise<WebhookEvent | PublishedEvent> =>
      http.get(`/v1/events${segment(id)}`),
    /** Says why webhooks do not have the event. */
    story: (id: string): Promise<Story> => http.get(`/v1/events${segment(id)}/story`),
    /** Lists events without their data, newest first. */
    list: (filter?: EventFilter & PageInput): List<ListedEvent> =>
      listOf(http, '/v1/recent-events', filter),
    /** Reads one page of the log. */
    read,
    /**
     * Follows the log without end, from the cursor `after` or from the oldest event. Store the
     * cursor of each event after you have handled it, and continue from it after a restart. Rejects
     * with an `ApiError` with status 410 if events after the cursor were purged.
     */
    async *follow({ after, ...options }: Omit<Read, 'limit' | 'wait'> = {}): AsyncGenerator<
      LoggedEvent,
      void,
      undefined
    > {
      let cursor = after
      for (;;) {
        const page = await read({
          ...(cursor !== undefined && { after: cursor }),
          limit: 100,
          wait: WAIT_SECONDS,
          ...options,
        })
        yield* page.data
        cursor = page.nextCursor
        // A server that stops answers without a wait.
        if (page.data.length === 0) await http.pause(options.signal)
      }
    },
  }
}
