import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { unavailableBecause } from './errors.js'
import { loadDriver } from './driver.js'
import { GREETING, HERE, LISTENER, OtherListeners } from './other-listeners.js'

/** Payloads are topics, separated by commas. */
const CHANNEL = 'agent_messaging_final'
/** Payloads are notes about streams, one per line. */
const NOTES = 'agent_messaging_streams'
/**
 * A NOTIFY takes a lock over all databases of the server when it commits. So the first topic is
 * sent at once, and topics of the next 10 ms share one NOTIFY. The stores never send one.
 */
const PAUSE_MS = 10
/** A payload must be shorter than 8,000 bytes. A topic with its comma has at most 82. */
const MAX_TOPICS = 95
const MAX_BYTES = 7_900
const QUERY_TIMEOUT_MS = 5_000
/** A connection that has said nothing for this time is tested. */
const SILENT_MS = 5_000
const TEST_MS = 2_000
const BACKOFF_MS = { first: 100, longest: 5_000 }

type Options = {
  readonly connection: pg.ClientConfig
  readonly onTopic: (topic: string) => void
  readonly onNote: (text: string) => void
  /** Called once per outage. */
  readonly onError: (reason: string) => void
}

/**
 * A connection that sends and receives topics by NOTIFY, and reconnects after an outage. Topics of
 * an outage are lost. While no other process listens, nothing is sent.
 */
export class NotifyConnection {
  readonly #options: Options
  /** Topics that wait for the next NOTIFY. */
  readonly #unsent = new Set<string>()
  /** Notes that wait for the next NOTIFY, each with its sender's callback. */
  #notes: { readonly text: string; readonly onSent: () => void }[] = []
  readonly #closing = new AbortController()
  readonly #others = new OtherListeners()
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
    if (!this.#others.areThere) return void this.#checkOthers()
    this.#unsent.add(topic)
    this.#sendSoon()
  }

  /** Resolves when the note was sent or is lost. The text has no line break. */
  sendNote(text: string): Promise<void> {
    const isHeard = this.#client !== undefined && this.#others.areThere
    if (this.#closing.signal.aborted || !isHeard) return Promise.resolve()
    return new Promise((onSent) => {
      this.#notes.push({ text, onSent })
      this.#sendSoon()
    })
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
    const { Client } = await loadDriver()
    const client = new Client({
      ...this.#options.connection,
      application_name: LISTENER,
      connectionTimeoutMillis: QUERY_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    })
    client.on('error', () => this.#lose(client)).on('end', () => this.#lose(client))
    client.on('notification', (notification) => {
      const { channel, payload = '' } = notification
      if (!this.#others.heard(notification)) return
      if (payload === GREETING) return this.send(HERE)
      if (channel === NOTES) {
        for (const text of payload.split('\n')) this.#options.onNote(text)
        return
      }
      for (const topic of payload.split(',')) this.#options.onTopic(topic)
    })
    try {
      await client.connect()
      // A connection string can set another name, which would overrule the one above.
      await client.query(`set application_name = '${LISTENER}'; listen ${CHANNEL}; listen ${NOTES}`)
      await this.#others.greet(client, CHANNEL)
      this.#client = client
      void this.#testSilent(client)
      return undefined
    } catch (error) {
      void client.end().catch(() => undefined)
      return unavailableBecause(error).reason
    }
  }

  /** Notices a machine that disappeared: its connection reports no error. */
  async #testSilent(client: pg.Client): Promise<void> {
    const { signal } = this.#closing
    const stream = client.connection.stream as Socket
    while (this.#client === client && !signal.aborted) {
      const { bytesRead } = stream
      await sleep(SILENT_MS, undefined, { ref: false, signal }).catch(() => undefined)
      if (signal.aborted || stream.bytesRead !== bytesRead) continue
      const test: pg.QueryConfig & { query_timeout: number } = {
        text: 'select',
        query_timeout: TEST_MS,
      }
      await client.query(test).catch(() => this.#lose(client))
    }
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return
    this.#client = undefined
    // A dead connection does not answer to a goodbye.
    client.connection.stream.destroy()
    if (!this.#closing.signal.aborted) this.#connecting = this.#connect()
  }

  #sendSoon(): void {
    if (this.#isSending) return
    this.#isSending = true
    setImmediate(() => {
      const pause = sleep(PAUSE_MS, undefined, { ref: false })
      void Promise.all([this.#sendAll(), pause]).then(() => {
        this.#isSending = false
        if (this.#unsent.size > 0 || this.#notes.length > 0) this.#sendSoon()
      })
    })
  }

  async #sendAll(): Promise<void> {
    await this.#sendNotes()
    const topics = [...this.#unsent]
    const client = this.#client
    this.#unsent.clear()
    for (let at = 0; client && at < topics.length; at += MAX_TOPICS) {
      const payload = topics.slice(at, at + MAX_TOPICS).join(',')
      await client
        .query('select pg_notify($1, $2)', [CHANNEL, payload])
        .catch(() => this.#lose(client))
    }
    await this.#checkOthers()
  }

  async #checkOthers(): Promise<void> {
    if (this.#client) await this.#others.checkAgain(this.#client)
  }

  /** Sends notes before topics: a final message follows the pieces of its answer. */
  async #sendNotes(): Promise<void> {
    const notes = this.#notes
    const client = this.#client
    this.#notes = []
    for (const payload of payloadsOf(notes.map(({ text }) => text))) {
      await client
        ?.query('select pg_notify($1, $2)', [NOTES, payload])
        .catch(() => this.#lose(client))
    }
    for (const { onSent } of notes) onSent()
  }
}

/** Joins notes into payloads that NOTIFY can carry. */
function payloadsOf(notes: readonly string[]): string[] {
  const payloads: string[] = []
  let bytes = Infinity
  for (const note of notes) {
    const length = Buffer.byteLength(note) + 1
    if (bytes + length > MAX_BYTES) {
      payloads.push(note)
      bytes = length
    } else {
      payloads[payloads.length - 1] += `\n${note}`
      bytes += length
    }
  }
  return payloads
}
