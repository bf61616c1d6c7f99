// JavaScript, because the lease keeper's thread loads it too.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** The next host is tried beside a host that does not answer within this time. */
const NEXT_HOST_MS = 250
/** A host that answers later counts as down. */
const HOST_MS = 2_000

/** SQLSTATE `read_only_sql_transaction` */
const READ_ONLY = '25006'

/**
 * A client that connects to the first of its hosts that answers, and with `needsWrites` to the
 * first one that accepts writes.
 */
export class PostgresClient extends pg.Client {
  #config
  /** @type {readonly string[]} */
  #urls
  #needsWrites

  /** @param {pg.ClientConfig & Partial<import('./postgres-url.js').Hosts>} [config] */
  constructor(config = {}) {
    super(config)
    const { urls = [], needsWrites = false } = config
    this.#config = config
    this.#urls = urls
    this.#needsWrites = needsWrites
  }

  /** The hosts with their ports. */
  get hosts() {
    const clients = this.#urls.map((connectionString) => new pg.Client({ connectionString }))
    const places = clients.length === 0 ? [this] : clients
    return places.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
  }

  /**
   * @override
   * @type {pg.Client['connect']}
   */
  connect = /** @type {pg.Client['connect']} */ (
    /** @param {((error: Error | null) => void) | undefined} callback */
    (callback) => {
      const connecting = this.#connect()
      if (callback === undefined) return connecting
      connecting.then(() => callback(null), callback)
    }
  )

  async #connect() {
    if (this.#urls.length > 1 || this.#needsWrites) {
      const { host, port } = await this.#chooseHost()
      if (this.connection.stream.destroyed) throw new Error('timeout expired')
      this.host = host
      this.port = port
    }
    return super.connect()
  }

  async #chooseHost() {
    /** @type {pg.Client[]} */
    const probes = []
    /** @type {Promise<pg.Client>[]} */
    const attempts = []
    try {
      for (const connectionString of this.#urls) {
        const { connectionTimeoutMillis = HOST_MS } = this.#config
        const limit = Math.min(HOST_MS, connectionTimeoutMillis)
        const probe = new pg.Client({
          ...this.#config,
          connectionString,
          connectionTimeoutMillis: limit,
          query_timeout: limit,
        })
        probes.push(probe)
        const attempt = this.#tryHost(probe)
        attempts.push(attempt)
        const answered = attempt.then(
          () => true,
          () => false,
        )
        if (await Promise.race([answered, sleep(NEXT_HOST_MS, false)])) break
      }
      return await Promise.any(attempts)
    } catch (error) {
      throw error instanceof AggregateError ? reasonOf(error.errors) : error
    } finally {
      for (const probe of probes) probe.connection.stream.destroy()
    }
  }

  /** @param {pg.Client} probe */
  async #tryHost(probe) {
    probe.on('error', () => undefined)
    await probe.connect()
    if (!this.#needsWrites) return probe
    const { rows } = await probe.query('show transaction_read_only')
    if (rows[0].transaction_read_only === 'off') return probe
    throw Object.assign(new Error('no host accepts writes'), { code: READ_ONLY })
  }
}

/** @param {readonly (Error & { code?: string })[]} errors */
const reasonOf = (errors) => errors.find(({ code }) => code === READ_ONLY) ?? errors[0]
