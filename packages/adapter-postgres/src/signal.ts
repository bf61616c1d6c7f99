import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Message,
  ResponseSignal,
  WaitingWork,
  WorkSignal,
} from '@org/agent-messaging-core/storage'
import pg from 'pg'
import { unavailableBecause } from './errors.js'

export type PostgresSignalOptions = (
  | { readonly connectionString: string }
  /** Where that leads: the connection is the signal's own, for it lives as long as the signal. Not behind a pooler of transactions. */
  | { readonly pool: pg.Pool }
) & {
  /** Hears why no wake-ups come through, once until they do again. */
  readonly onError?: (reason: string) => void
}

export type PostgresSignal = ResponseSignal &
  WorkSignal & {
    /** Sends what waits to be sent, and closes the connection. */
    close(): Promise<void>
  }

type Hear = Parameters<ResponseSignal['listen']>[1]

/** Carries topics, with commas between them: the id of a message that ended, or work that waits. */
const CHANNEL = 'agent_messaging_final'
const DELIVERIES = 'deliveries'
const MESSAGES_OF = 'messages:'
/**
 * A NOTIFY takes a lock over all databases at its commit: the first one goes off at once, and the next is for all that came within this
 * time after it; never in a transaction of the stores.
 */
const PAUSE_MS = 10
/** A payload holds less than 8,000 bytes, and a topic takes 46 with its comma. */
const TOPICS_OF_ONE = 170
const QUERY_TIMEOUT_MS = 5_000
const BACKOFF_MS = { first: 100, longest: 5_000 }

/**
 * Wakes the listeners of every process on the database by NOTIFY, and those of its own at once with the message at hand; tells them of work
 * that waits in the same way. While the connection is away nothing is kept for the others: they poll.
 */
export function postgresSignal({
  onError = () => undefined,
  ...place
}: PostgresSignalOptions): PostgresSignal {
  const where =
    'pool' in place ? optionsOf(place.pool) : { connectionString: place.connectionString }
  const listeners = new Map<string, Set<Hear>>()
  const workers = new Set<{ hear(work: WaitingWork): void }>()
  const untold = new Set<string>()
  const over = new AbortController()
  let client: pg.Client | undefined
  let telling = false
  let connecting = connect()

  function wake(messageId: string, message?: Message): void {
    for (const hear of listeners.get(messageId) ?? []) hear(message)
  }

  function heed(topic: string): void {
    const work = workOf(topic)
    if (!work) return wake(topic)
    for (const { hear } of workers) hear(work)
  }

  async function connect(): Promise<void> {
    for (
      let pause = BACKOFF_MS.first, isTold = false;
      !over.signal.aborted;
      pause = Math.min(2 * pause, BACKOFF_MS.longest)
    ) {
      const reason = await tryConnect()
      if (reason === undefined) return
      if (!isTold) onError(reason)
      isTold = true
      await sleep(pause, undefined, { ref: false, signal: over.signal }).catch(() => undefined)
    }
  }

  /** Gives why not. */
  async function tryConnect(): Promise<string | undefined> {
    const next = new pg.Client({
      ...{ ...where, application_name: 'agent_messaging_signal' },
      ...{
        connectionTimeoutMillis: QUERY_TIMEOUT_MS,
        query_timeout: QUERY_TIMEOUT_MS,
        keepAlive: true,
      },
    })
    next.on('error', () => lose(next)).on('end', () => lose(next))
    next.on('notification', ({ payload = '' }) => {
      for (const topic of payload.split(',')) heed(topic)
    })
    try {
      await next.connect()
      await next.query(`listen ${CHANNEL}`)
      client = next
      return undefined
    } catch (error) {
      void next.end().catch(() => undefined)
      return unavailableBecause(error).reason
    }
  }

  function lose(lost: pg.Client): void {
    if (client !== lost) return
    client = undefined
    void lost.end().catch(() => undefined)
    if (!over.signal.aborted) connecting = connect()
  }

  function say(topic: string): void {
    if (over.signal.aborted) return
    untold.add(topic)
    tellSoon()
  }

  function tellSoon(): void {
    if (telling) return
    telling = true
    setImmediate(() => {
      const paused = sleep(PAUSE_MS, undefined, { ref: false })
      void Promise.all([tell(), paused]).then(() => {
        telling = false
        if (untold.size > 0) tellSoon()
      })
    })
  }

  async function tell(): Promise<void> {
    const [topics, told] = [[...untold], client]
    untold.clear()
    for (let at = 0; told && at < topics.length; at += TOPICS_OF_ONE) {
      const payload = topics.slice(at, at + TOPICS_OF_ONE).join(',')
      await told.query('select pg_notify($1, $2)', [CHANNEL, payload]).catch(() => lose(told))
    }
  }

  return {
    notify: (message) => {
      wake(message.id, message)
      say(message.id)
    },
    listen: (messageId, hear) => {
      const hearers = listeners.get(messageId) ?? new Set()
      listeners.set(messageId, hearers.add(hear))
      return () => {
        hearers.delete(hear)
        if (hearers.size === 0) listeners.delete(messageId)
      }
    },
    announce: (work) => say(work.kind === 'deliveries' ? DELIVERIES : MESSAGES_OF + work.agentId),
    onAnnounced: (hear) => {
      const worker = { hear }
      workers.add(worker)
      return () => void workers.delete(worker)
    },
    close: async () => {
      over.abort()
      await connecting
      await tell()
      const last = client
      client = undefined
      await last?.end()
    },
  }
}

/** With the password, which pg hides from who copies them. */
const optionsOf = ({ options }: pg.Pool): pg.ClientConfig => ({
  ...options,
  password: options.password,
})

/** Undefined when the topic is a message. */
function workOf(topic: string): WaitingWork | undefined {
  if (topic === DELIVERIES) return { kind: 'deliveries' }
  return topic.startsWith(MESSAGES_OF)
    ? { kind: 'messages', agentId: topic.slice(MESSAGES_OF.length) }
    : undefined
}
