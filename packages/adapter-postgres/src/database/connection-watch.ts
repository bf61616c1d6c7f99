import type { Socket } from 'node:net'
import type pg from 'pg'
import { codeOf } from './errors.js'
import { loadDriver } from './driver.js'

/** A test that takes longer finds that the server is away. */
const TEST_MS = 2_000
const TICKS_PER_LIMIT = 5

const lookSql = `
  select pg_backend_pid() as own, coalesce((select json_object_agg(pid, coalesce(state, ''))
    from pg_stat_activity where pid = any($1::int[]) and datname = current_database()), '{}') as states`
type Look = { readonly own: number; readonly states: Readonly<Record<string, string>> }

/** The parts of a client that the types of the driver leave out. */
type Client = pg.PoolClient & {
  readonly readyForQuery?: boolean
  readonly processID?: number | null
}

type Watched = {
  readonly client: Client
  readonly stream: Socket
  bytesRead: number
  heardAt: number
  /** Since when a query waits for an answer, at most. The present time without a query. */
  waitsSince: number
}

/** Returns whether the connection is dead. */
type Verdict = (watched: Watched) => boolean

/**
 * Finds dead connections of a pool. The connection of a machine that disappeared reports no error
 * for a quarter of an hour or more. If a query has no answer for `silentMs`, another connection
 * asks the server about it. If the server does not work on it, or is away, the connection and the
 * idle ones are closed. The connection of a query that waits for a lock or a disk stays.
 *
 * One timer looks at all connections. Behind a pooler that hides the server's processes, only a
 * pooler that is away is noticed.
 */
export class ConnectionWatch {
  readonly #pool: pg.Pool
  readonly #silentMs: number
  readonly #watched = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined
  #isTesting = false

  constructor(pool: pg.Pool, silentMs: number) {
    this.#pool = pool
    this.#silentMs = silentMs
    pool.on('connect', this.#watch)
  }

  /** Watches no more connections. */
  stop(): void {
    this.#pool.off('connect', this.#watch)
    this.#watched.clear()
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  readonly #watch = (client: Client): void => {
    // A host's pool can have another driver.
    const stream = (client as Partial<pg.PoolClient>).connection?.stream as Socket | undefined
    if (!stream) return
    const now = performance.now()
    const watched = { client, stream, bytesRead: stream.bytesRead, heardAt: now, waitsSince: now }
    this.#watched.add(watched)
    client.once('end', () => this.#watched.delete(watched))
    this.#timer ??= setInterval(() => this.#tick(), this.#silentMs / TICKS_PER_LIMIT).unref()
  }

  #tick(): void {
    const now = performance.now()
    let silentSince = Infinity
    for (const watched of this.#watched) {
      const { bytesRead } = watched.stream
      const isHeard = bytesRead !== watched.bytesRead
      if (isHeard) watched.heardAt = now
      if (isHeard || !isWaiting(watched)) watched.waitsSince = now
      watched.bytesRead = bytesRead
      if (this.#isSilent(watched)) silentSince = Math.min(silentSince, watched.waitsSince)
    }
    if (silentSince < Infinity && !this.#isTesting) void this.#test(silentSince)
  }

  #isSilent({ waitsSince }: Watched): boolean {
    return performance.now() - waitsSince >= this.#silentMs
  }

  /** Closes the dead ones of the connections that have said nothing since then. */
  async #test(silentSince: number): Promise<void> {
    this.#isTesting = true
    const suspects = [...this.#watched].filter(({ heardAt }) => heardAt <= silentSince)
    const isDead = await this.#ask(suspects)
    const silent = suspects.filter(({ stream, bytesRead }) => stream.bytesRead === bytesRead)
    const dead = silent.filter((one) => isWaiting(one) && isDead(one))
    // A new connection costs less than a query on a dead one.
    const idle = dead.length > 0 ? silent.filter((one) => !isWaiting(one)) : []
    for (const { stream } of [...dead, ...idle])
      stream.destroy(new Error('the connection did not answer'))
    this.#isTesting = false
  }

  async #ask(suspects: readonly Watched[]): Promise<Verdict> {
    const { options } = this.#pool
    const { Client } = await loadDriver()
    const tester = new Client({
      ...options,
      // pg hides the password from a copy of its options.
      password: options.password,
      connectionTimeoutMillis: TEST_MS,
      query_timeout: TEST_MS,
    })
    tester.on('error', () => undefined)
    try {
      await tester.connect()
      const pids = suspects.map(({ client }) => client.processID)
      const { rows } = await tester.query<Look>(lookSql, [pids])
      const [look] = rows
      // A pooler shows other processes than the server does.
      const isPooled = look?.own !== (tester as { processID?: number | null }).processID
      return look && !isPooled ? (watched) => this.#isUnknown(watched, look) : () => false
    } catch (error) {
      // An error with a SQLSTATE comes from a server that lives.
      const isAway = !/^[0-9A-Z]{5}$/.test(codeOf(error) ?? '') || codeOf(error) === '25006'
      return () => isAway
    } finally {
      tester.connection.stream.destroy()
    }
  }

  /** The server has no process for the connection, or one that works on nothing. */
  #isUnknown(watched: Watched, { states }: Look): boolean {
    const state = states[String(watched.client.processID)]
    return state === undefined || (this.#isSilent(watched) && state.startsWith('idle'))
  }
}

const isWaiting = ({ client }: Watched): boolean => client.readyForQuery === false
