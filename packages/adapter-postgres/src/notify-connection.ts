import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { unavailableBecause } from './errors.js'

/** Payloads are topics, separated by commas. */
const CHANNEL = 'agent_messaging_final'
/**
 * A NOTIFY takes a lock over all databases of the server when it commits. So the first topic is
 * sent at once, and topics of the next 10 ms share one NOTIFY. The stores never send one.
 */
const PAUSE_MS = 10
/** A payload must be shorter than 8,000 bytes. A topic with its comma has at most 82. */
const MAX_TOPICS = 95
const QUERY_TIMEOUT_MS = 5_000
const BACKOFF_MS = { first: 100, longest: 5_000 }

type Options = {
  readonly connection: pg.ClientConfig
  readonly onTopic: (topic: string) => void
  /** Called once per outage. */
  readonly onError: (reason: string) => void
}

/**
 * A connection that sends and receives topics by NOTIFY, and reconnects after an outage. Topics of
 * an outage are lost.
 */
export class NotifyConnection {
  readonly #options: Options
  /** Topics that wait for the next NOTIFY. */
  readonly #unsent = new Set<string>()
  readonly #closing = new AbortController()
  /** Undefined during an outage. */
  #client: pg.Client | undefined
  #isSending = false
  #connecting: Promise<void>

  constructor(options: Options) {
    this.#options = options
    this.#connecting = this.#connect()
  }

  send(topic: string): void {
    if (this.#closing.signal.aborted) return
    this.#unsent.add(topic)
    this.#sendSoon()
  }

  /** Sends the remaining topics and closes the connection. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#connecting
    await this.#sendAll()
    const client = this.#client
    this.#client = undefined
    await client?.end()
  }

  async #connect(): Promise<void> {
    const { signal } = this.#closing
    let pause = BACKOFF_MS.first
    let isReported = false
    while (!signal.aborted) {
      const reason = await this.#tryConnect()
      if (reason === undefined) return
      if (!isReported) this.#options.onError(reason)
      isReported = true
      await sleep(pause, undefined, { ref: false, signal }).catch(() => undefined)
      pause = Math.min(2 * pause, BACKOFF_MS.longest)
    }
  }

  /** Returns the reason if the connection fails. */
  async #tryConnect(): Promise<string | undefined> {
    const client = new pg.Client({
      ...this.#options.connection,
      application_name: 'agent_messaging_signal',
      connectionTimeoutMillis: QUERY_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    })
    client.on('error', () => this.#lose(client)).on('end', () => this.#lose(client))
    client.on('notification', ({ payload = '' }) => {
      for (const topic of payload.split(',')) this.#options.onTopic(topic)
    })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      this.#client = client
      return undefined
    } catch (error) {
      void client.end().catch(() => undefined)
      return unavailableBecause(error).reason
    }
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    void client.end().catch(() => undefined)
    if (!this.#closing.signal.aborted) this.#connecting = this.#connect()
  }

  #sendSoon(): void {
    if (this.#isSending) return
    this.#isSending = true
    setImmediate(() => {
      const pause = sleep(PAUSE_MS, undefined, { ref: false })
      void Promise.all([this.#sendAll(), pause]).then(() => {
        this.#isSending = false
        if (this.#unsent.size > 0) this.#sendSoon()
      })
    })
  }

  async #sendAll(): Promise<void> {
    const topics = [...this.#unsent]
    const client = this.#client
    this.#unsent.clear()
    for (let at = 0; client && at < topics.length; at += MAX_TOPICS) {
      const payload = topics.slice(at, at + MAX_TOPICS).join(',')
      await client
        .query('select pg_notify($1, $2)', [CHANNEL, payload])
        .catch(() => this.#lose(client))
    }
  }
}
