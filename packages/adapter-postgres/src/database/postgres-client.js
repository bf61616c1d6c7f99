// JavaScript, because the lease keeper's thread loads it too.
import { setTimeout as sleep } from 'node:timers/promises'

/** The next host is tried beside a host that does not answer within this time. */
const NEXT_HOST_MS = 250
/** A host that answers later counts as down. */
const HOST_MS = 2_000

/** SQLSTATE `read_only_sql_transaction` */
const READ_ONLY = '25006'

/**
 * @import pg from 'pg'
 * @import { Hosts } from './postgres-url.js'
 * @typedef {pg.Client & { readonly hosts: readonly string[] }} PostgresClient
 * @typedef {new (config?: pg.ClientConfig & Partial<Hosts>) => PostgresClient} PostgresClientClass
 */

/**
 * Returns the class of a client that connects to the first of its hosts that answers, and with
 * `needsWrites` to the first one that accepts writes.
 *
 * @param {Pick<typeof pg, 'Client'>} driver
 * @returns {PostgresClientClass}
 */
export function clientClass({ Client }) {
  return class PostgresClient extends Client {
    #config

    /** @param {pg.ClientConfig & Partial<Hosts>} [config] */
    constructor(config = {}) {
      super(config)
      this.#config = { urls: [], needsWrites: false, ...config }
    }

    /** The hosts with their ports. */
    get hosts() {
      const clients = this.#config.urls.map((connectionString) => new Client({ connectionString }))
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
      const { urls, needsWrites } = this.#config
      if (urls.length > 1 || needsWrites) {
        const { host, port } = await chooseHost({ Client }, this.#config)
        if (this.connection.stream.destroyed) throw new Error('timeout expired')
        this.host = host
        this.port = port
      }
      return super.connect()
    }
  }
}

/**
 * @param {Pick<typeof pg, 'Client'>} driver
 * @param {pg.ClientConfig & Hosts} config
 */
async function chooseHost({ Client }, config) {
  /** @type {pg.Client[]} */
  const probes = []
  /** @type {Promise<pg.Client>[]} */
  const attempts = []
  try {
    for (const connectionString of config.urls) {
      const { connectionTimeoutMillis = HOST_MS } = config
      const limit = Math.min(HOST_MS, connectionTimeoutMillis)
      const probe = new Client({
        ...config,
        connectionString,
        connectionTimeoutMillis: limit,
        query_timeout: limit,
      })
      probes.push(probe)
      const attempt = tryHost(probe, config)
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

/**
 * @param {pg.Client} probe
 * @param {Hosts} hosts
 */
async function tryHost(probe, { needsWrites }) {
  probe.on('error', () => undefined)
  await probe.connect()
  if (!needsWrites) return probe
  const { rows } = await probe.query('show transaction_read_only')
  if (rows[0].transaction_read_only === 'off') return probe
  throw Object.assign(new Error('no host accepts writes'), { code: READ_ONLY })
}

/** @param {readonly (Error & { code?: string })[]} errors */
const reasonOf = (errors) => errors.find(({ code }) => code === READ_ONLY) ?? errors[0]
