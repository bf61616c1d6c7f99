import type { Stored } from '@org/agent-messaging-core/storage'
import { errAsync, fromAsyncThrowable } from 'neverthrow'
import pg from 'pg'
import { createCommitter, repeated, type Batching } from './committer.js'
import { codeOf } from './error-code.js'
import { createGate } from './gate.js'
import type { Sql } from './sql.js'
import { unavailable, unavailableBecause } from './unavailable.js'

/** Runs statements, on whatever connection they belong to. */
export type Queries = {
  all<Parameters extends object, Row>(
    statement: Sql<Parameters, Row>,
    parameters: NoInfer<Parameters>,
  ): Promise<Row[]>
  one<Parameters extends object, Row>(
    statement: Sql<Parameters, Row>,
    parameters: NoInfer<Parameters>,
  ): Promise<Row | undefined>
  /** Gives how many rows it changed. */
  run<Parameters extends object>(
    statement: Sql<Parameters>,
    parameters: NoInfer<Parameters>,
  ): Promise<number>
}

/** The stores' way to the database. Whatever goes wrong becomes `Unavailable`: nothing throws, nothing rejects. */
export type Database = {
  /**
   * Runs `operation` in a transaction of its own and answers when that is durable. It may run twice, but only one run counts: so often more
   * as it meets a lock of somebody's.
   */
  write<T>(operation: (queries: Queries) => Promise<T>, mostWaits?: number): Stored<T>
  /** As `write`, but without a transaction around it: each statement is one, and the last one makes all of it durable. */
  call<T>(operation: (queries: Queries) => Promise<T>): Stored<T>
  /** As `call`, of many at once; as `write` with `inTransaction`. */
  grouped<In, Out>(batching: Grouping<In, Out>): (input: In) => Stored<Out>
  /** Statements on what is committed, each on its own snapshot. */
  read<T>(operation: (queries: Queries) => Promise<T>): Stored<T>
  /** As `read`, of many at once: what each is answered was committed when it was asked, or later. */
  gathered<In, Out>(
    look: (queries: Queries, inputs: readonly In[]) => Promise<readonly Out[]>,
  ): (input: In) => Stored<Out>
  close(): Promise<void>
}

type Grouping<In, Out> = Omit<Batching<In, Out>, 'flush'> & {
  readonly inTransaction?: boolean
  readonly flush: (queries: Queries, inputs: readonly In[]) => Promise<readonly Out[]>
}

/** Of one kind. With the largest message each it is a lot of memory, but not all of it. */
const MOST_WAITING = 10_000
/** Each may bring a row. */
const MOST_ASKED = 256
/**
 * Batches of all kinds under way at once: the database works at one while the next is prepared. A call costs half a millisecond and more before its
 * first row, here and there, so that the processors do more with few and large ones. A caller who is alone waits for nothing.
 */
const MOST_UNDER_WAY = 2
const GATE_PATIENCE_MS = 50
/** `require_read_committed` says so: the host's default is another level, under which a function sees nothing new. */
const WRONG_ISOLATION = '25000'
/**
 * Statements see what is committed when they begin: what they decide on they lock first, whatever the host's own default is. A process that
 * hangs half-way loses its locks, and nobody waits for ever for another's.
 */
const BEGIN =
  "begin isolation level read committed; set local idle_in_transaction_session_timeout = '10s'; set local lock_timeout = '10s'"

/**
 * Who has not answered by then is gone, whatever its connection says: that of a machine that fell away says nothing for a quarter of an hour and
 * more. Nothing here takes so long; a lock is waited for half of it at most.
 */
const ANSWER_MS = 20_000

/** Instants and counts are far below 2 ** 53, so `bigint` comes back as a number. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format) =>
    (id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format)) as never,
}

export function createDatabase(pool: pg.Pool, endsPool: boolean, answerMs = ANSWER_MS): Database {
  const underWay = new Set<Promise<unknown>>()
  const gate = createGate(MOST_UNDER_WAY, GATE_PATIENCE_MS)
  let isClosed = false
  let ended: Promise<void> | undefined
  // A connection that the server ends must not end this process, idle or at work: its query fails, and the next one opens another.
  const ignore = (): void => undefined
  const hear = (client: pg.PoolClient): void => void client.on('error', ignore)
  pool.on('error', ignore)
  pool.on('connect', hear)

  function tracked<T>(work: () => Promise<T>): Stored<T> {
    if (isClosed) return errAsync(unavailable('the storage is closed'))
    const running = work()
    underWay.add(running)
    const forget = (): void => void underWay.delete(running)
    running.then(forget, forget)
    return fromAsyncThrowable(() => running, unavailableBecause)()
  }

  const transactOnce = async <T>(operation: (queries: Queries) => Promise<T>): Promise<T> =>
    transactOn(await pool.connect(), operation, answerMs)

  let isReadCommitted = true
  async function callOnce<T>(operation: (queries: Queries) => Promise<T>): Promise<T> {
    try {
      if (isReadCommitted) return await operation(queriesOn(pool, answerMs))
    } catch (error) {
      if (codeOf(error) !== WRONG_ISOLATION) throw error
      isReadCommitted = false
    }
    return transactOnce(operation)
  }

  async function end(): Promise<void> {
    await Promise.allSettled(underWay)
    // Its connections close behind its back, and may still be cut meanwhile: ours is listened to for ever.
    if (endsPool) return pool.end()
    pool.off('error', ignore)
    pool.off('connect', hear)
  }

  return {
    write: (operation, mostWaits) =>
      tracked(() => repeated(() => transactOnce(operation), mostWaits)),
    call: (operation) => tracked(() => repeated(() => callOnce(operation))),
    grouped: ({ flush, inTransaction = false, ...batching }) => {
      const once = inTransaction ? transactOnce : callOnce
      const commit = createCommitter(
        { ...batching, flush: (inputs) => once((queries) => flush(queries, inputs)) },
        MOST_WAITING,
        gate,
      )
      return (input) => tracked(() => commit(input))
    },
    read: (operation) => tracked(() => operation(queriesOn(pool, answerMs))),
    gathered: <In, Out>(
      look: (queries: Queries, inputs: readonly In[]) => Promise<readonly Out[]>,
    ) => {
      const ask = createCommitter<In, Out>(
        { mostAtOnce: MOST_ASKED, flush: (inputs) => look(queriesOn(pool, answerMs), inputs) },
        MOST_WAITING,
        gate,
      )
      return (input: In) => tracked(() => ask(input))
    },
    close: () => {
      isClosed = true
      return (ended ??= end())
    },
  }
}

/** Hands the connection back, or throws it away when it cannot even roll back. */
async function transactOn<T>(
  client: pg.PoolClient,
  operation: (queries: Queries) => Promise<T>,
  answerMs: number,
): Promise<T> {
  const say = (text: string) => client.query(withLimit({ text }, answerMs))
  let broken: Error | undefined
  try {
    await say(BEGIN)
    const value = await operation(queriesOn(client, answerMs))
    await say('commit')
    return value
  } catch (error) {
    await say('rollback').catch((reason: Error) => (broken = reason))
    throw error
  } finally {
    client.release(broken)
  }
}

/** A connection that does not answer in `answerMs` is given up. */
export function queriesOn(
  connection: Pick<pg.Pool | pg.ClientBase, 'query'>,
  answerMs?: number,
): Queries {
  async function query({ text, names }: Pick<Sql, 'text' | 'names'>, parameters: object) {
    const given = parameters as { readonly [name: string]: unknown }
    return connection.query(
      withLimit({ text, values: names.map((name) => given[name] ?? null), types }, answerMs),
    )
  }
  return {
    all: async <Row>(statement: Sql<never, Row>, parameters: object) =>
      (await query(statement, parameters)).rows as Row[],
    one: async <Row>(statement: Sql<never, Row>, parameters: object) =>
      (await query(statement, parameters)).rows[0] as Row | undefined,
    run: async (statement, parameters) => (await query(statement, parameters)).rowCount ?? 0,
  }
}

/** The driver takes it of each statement too, though its types know it of a client only. */
const withLimit = (statement: pg.QueryConfig, answerMs?: number): pg.QueryConfig =>
  Object.assign(statement, { query_timeout: answerMs })
