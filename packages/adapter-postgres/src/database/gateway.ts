import type pg from 'pg'
import { failure, success } from '@org/agent-messaging-core/runtime'
import { CLOSED, type Stored } from '@org/agent-messaging-core/storage'
import type { Answer } from '@org/agent-messaging-sql-kit'
import { arrayText } from './array-text.js'
import { BatchSlots } from './batch-slots.js'
import { Batcher, type BatcherOptions } from './batcher.js'
import { ConnectionWatch } from './connection-watch.js'
import { loadDriver } from './driver.js'
import { codeOf, unavailable, unavailableBecause } from './errors.js'
import { retried } from './retry.js'
import type { Sql } from './sql.js'

/** Runs statements on a connection, or each on any connection of a pool. */
export type Queries = {
  answer<Parameters extends object>(
    statement: Sql<Parameters>,
    parameters: NoInfer<Parameters>,
  ): Promise<Answer>
  all<Parameters extends object, Row>(
    statement: Sql<Parameters, Row>,
    parameters: NoInfer<Parameters>,
  ): Promise<Row[]>
  one<Parameters extends object, Row>(
    statement: Sql<Parameters, Row>,
    parameters: NoInfer<Parameters>,
  ): Promise<Row | undefined>
  /** Returns how many rows changed. */
  run<Parameters extends object>(
    statement: Sql<Parameters>,
    parameters: NoInfer<Parameters>,
  ): Promise<number>
}

/** The stores' access to the database. Each error becomes `Unavailable`: no method rejects. */
export type Gateway = {
  /**
   * Runs `operation` in a transaction and resolves when the commit is durable. The operation can
   * run several times, but only one run is committed. `maxLockFailures` is the number of further
   * runs when another transaction holds a lock.
   */
  write<T>(operation: (queries: Queries) => Promise<T>, maxLockFailures?: number): Stored<T>
  /**
   * Like `write` without a transaction: each statement commits, the last one completes the work.
   */
  call<T>(operation: (queries: Queries) => Promise<T>): Stored<T>
  /** Like `call` for batches of inputs. Like `write` with `inTransaction`. */
  grouped<In, Out>(batching: WriteBatching<In, Out>): (input: In) => Stored<Out>
  /** Runs statements on committed data. Each statement has its own snapshot. */
  read<T>(operation: (queries: Queries) => Promise<T>): Stored<T>
  /** Like `read` for batches. Each answer was committed when its question came, or later. */
  gathered<In, Out>(look: BatchOperation<In, Out>): (input: In) => Stored<Out>
  close(): Promise<void>
}

type BatchOperation<In, Out> = (queries: Queries, inputs: readonly In[]) => Promise<readonly Out[]>

type WriteBatching<In, Out> = Omit<BatcherOptions<In, Out>, 'flush' | 'maxQueued' | 'slots'> & {
  readonly inTransaction?: boolean
  readonly flush: BatchOperation<In, Out>
}

/**
 * Waiting writes of one kind. With the largest message each, they take much memory, but not all.
 */
const MAX_QUEUED = 10_000
/** Reads in one batch. Each can return a row. */
const MAX_READS = 256
/**
 * Batches of all kinds under way at once: the database works on one while the next is prepared. A
 * call costs half a millisecond or more before its first row, so a few large batches are cheaper
 * than many small ones. A single caller never waits.
 */
const MAX_BATCHES = 2
const SLOW_BATCH_MS = 50
/** SQLSTATE of `require_read_committed`: the host's default isolation level is another one. */
const WRONG_ISOLATION = '25000'
/**
 * Each statement must see all rows that were committed before the statement began, even if the
 * host has another default. A process that hangs in a transaction loses its locks after 10 s.
 */
const BEGIN = `begin isolation level read committed;
  set local idle_in_transaction_session_timeout = '10s'; set local lock_timeout = '10s'`
type AnswerLimits = {
  /** A connection without an answer for this time is tested. */
  readonly silentMs: number
  /**
   * A connection is closed if PostgreSQL does not answer within this time. Nothing here takes that
   * long: a wait for a lock takes half of it at most.
   */
  readonly answerMs: number
}
const LIMITS: AnswerLimits = { silentMs: 5_000, answerMs: 20_000 }

export function createGateway(
  pool: pg.Pool,
  endsPool: boolean,
  { silentMs, answerMs }: AnswerLimits = LIMITS,
): Gateway {
  const connections = new Connections(pool, answerMs)
  const watch = new ConnectionWatch(pool, silentMs)
  const work = new OpenWork()
  const slots = new BatchSlots(MAX_BATCHES, SLOW_BATCH_MS)
  let ended: Promise<void> | undefined

  function batched<In, Out>(
    options: Omit<BatcherOptions<In, Out>, 'maxQueued' | 'slots'>,
  ): (input: In) => Stored<Out> {
    const batcher = new Batcher<In, Out>({ ...options, maxQueued: MAX_QUEUED, slots })
    return (input) => work.track(() => batcher.commit(input))
  }

  async function end(): Promise<void> {
    await work.end()
    watch.stop()
    // An ended pool closes its connections later, and they can still break. So their listeners
    // stay.
    if (endsPool) await pool.end()
    else connections.unlisten()
  }

  return {
    write: (operation, maxLockFailures) =>
      work.track(() => retried(() => connections.transact(operation), maxLockFailures)),
    call: (operation) => work.track(() => retried(() => connections.call(operation))),
    grouped: ({ flush, inTransaction = false, ...options }) =>
      batched({
        ...options,
        flush: (inputs) =>
          inTransaction
            ? connections.transact((queries) => flush(queries, inputs))
            : connections.call((queries) => flush(queries, inputs)),
      }),
    read: (operation) => work.track(() => operation(connections.queries)),
    gathered: (look) =>
      batched({ maxBatchSize: MAX_READS, flush: (inputs) => look(connections.queries, inputs) }),
    close: () => (ended ??= end()),
  }
}

/** The work that `close` waits for. */
class OpenWork {
  #running = 0
  #isClosed = false
  #onIdle = (): void => undefined

  async track<T>(start: () => Promise<T>): Stored<T> {
    if (this.#isClosed) return failure(unavailable(CLOSED))
    this.#running++
    try {
      return success(await start())
    } catch (error) {
      return failure(unavailableBecause(error))
    } finally {
      this.#running--
      if (this.#running === 0) this.#onIdle()
    }
  }

  async end(): Promise<void> {
    this.#isClosed = true
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }
}

/**
 * SQLSTATEs of a prepared statement that the connection does not have, or that another client made.
 * The statement did nothing.
 */
const NOT_PREPARED: readonly (string | undefined)[] = ['26000', '42P05']

/**
 * Prepares statements on the connections of a pool. Stops at the first one that got lost, because
 * some poolers give each transaction another connection, and some hosts clear their connections.
 */
class PreparedStatements {
  #areKept = true

  async run<T>(name: string, statement: (name?: string) => Promise<T>): Promise<T> {
    try {
      if (this.#areKept) return await statement(name)
    } catch (error) {
      if (!NOT_PREPARED.includes(codeOf(error))) throw error
      this.#areKept = false
    }
    return statement()
  }
}

class Connections {
  /** Runs each statement on any connection of the pool. */
  readonly queries: Queries
  readonly #pool: pg.Pool
  readonly #answerMs: number
  /** False once a function found that the host's default isolation level is another one. */
  #isReadCommitted = true

  constructor(pool: pg.Pool, answerMs: number) {
    this.queries = queriesOn(pool, answerMs, new PreparedStatements())
    this.#pool = pool
    this.#answerMs = answerMs
    pool.on('error', ignore)
    pool.on('connect', ignoreErrorsOf)
  }

  /** Runs `operation` without a transaction, unless the isolation level needs one. */
  async call<T>(operation: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      if (this.#isReadCommitted) return await operation(this.queries)
    } catch (error) {
      if (codeOf(error) !== WRONG_ISOLATION) throw error
      this.#isReadCommitted = false
    }
    return this.transact(operation)
  }

  async transact<T>(operation: (queries: Queries) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    const say = (text: string) => client.query(withTimeout({ text }, this.#answerMs))
    let broken: Error | undefined
    try {
      await say(BEGIN)
      const value = await operation(queriesOn(client, this.#answerMs))
      await say('commit')
      return value
    } catch (error) {
      // A connection that cannot roll back does not return to the pool.
      await say('rollback').catch((reason: Error) => (broken = reason))
      throw error
    } finally {
      client.release(broken)
    }
  }

  unlisten(): void {
    this.#pool.off('error', ignore)
    this.#pool.off('connect', ignoreErrorsOf)
  }
}

/**
 * A connection that the server closes must not end this process. A running query fails.
 * The next query opens another connection.
 */
const ignore = (): void => undefined
const ignoreErrorsOf = (client: pg.PoolClient): void => void client.on('error', ignore)

/** A connection that does not answer within `answerMs` is closed. */
export function queriesOn(
  connection: Pick<pg.Pool | pg.ClientBase, 'query'>,
  answerMs?: number,
  prepared?: PreparedStatements,
): Queries {
  async function query(
    { text, names, preparedAs }: Pick<Sql, 'text' | 'names' | 'preparedAs'>,
    parameters: object,
  ) {
    const { types } = await loadDriver()
    const given = parameters as { readonly [name: string]: unknown }
    const values = names.map((name) => parameterOf(given[name]))
    const run = (name?: string) =>
      connection.query(withTimeout({ name, text, values, types }, answerMs))
    return preparedAs && prepared ? prepared.run(preparedAs, run) : run()
  }
  return {
    answer: async (statement, parameters) => {
      const { rows, rowCount } = await query(statement, parameters)
      return { rows, changes: rowCount ?? 0 }
    },
    all: async <Row>(statement: Sql<never, Row>, parameters: object) =>
      (await query(statement, parameters)).rows as Row[],
    one: async <Row>(statement: Sql<never, Row>, parameters: object) =>
      (await query(statement, parameters)).rows[0] as Row | undefined,
    run: async (statement, parameters) => (await query(statement, parameters)).rowCount ?? 0,
  }
}

const parameterOf = (value: unknown): unknown =>
  Array.isArray(value) ? arrayText(value) : (value ?? null)

/** The driver accepts `query_timeout` for a statement, but its types have it for a client only. */
const withTimeout = (statement: pg.QueryConfig, answerMs?: number): pg.QueryConfig =>
  Object.assign(statement, { query_timeout: answerMs })
