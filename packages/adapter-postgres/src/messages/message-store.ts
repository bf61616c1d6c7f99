import type { ExecutionPrincipal } from '@org/agent-messaging-core'
import type { EarlierTurn } from '@org/agent-messaging-core/runtime'
import {
  interruptedRun,
  messageOf,
  newestThatFit,
  turnsOf,
  type Accepted,
  type ClaimedMessage,
  type ClaimRunnable,
  type HistoryOf,
  type MessageFacts,
  type MessageStateKind,
  type MessageStore,
  type NewMessage,
  type RecordedRun,
  type RunRecord,
} from '@org/agent-messaging-core/storage'
import {
  askPerson,
  cancelMessage,
  type Changed,
  changeInput,
  erasePrincipalMessages,
  heldRuns,
  messageChanges,
  messageLists,
  messageRemovals,
  readParts,
  readRuns,
  type Operate,
} from '@org/agent-messaging-sql-kit'
import { MAX_LOCK_FAILURES } from '../database/batch.js'
import type { Gateway, Queries } from '../database/gateway.js'
import { perform, runnerOf } from '../database/operations.js'
import { call, jsonRows, sql } from '../database/sql.js'
import { fanOut } from '../events/fan-out.js'
import { KnownHooks, KnownReceivers } from '../webhooks/receivers.js'
import { acceptLimited } from './accept-limited.js'
import { acceptAll } from './accept-message.js'
import { searchMessages } from './message-search.js'
import { recordRuns } from './record-runs.js'

/** 64 of the longest messages are 64 MB. */
const MAX_BATCH_SIZE = 64
/** The deliveries to webhooks with `payload: "parts"` have copies of one body. */
const COPIES = 16

const IN_SESSIONS = {
  keyOf: ({ id }: NewMessage) => id,
  lockOf: ({ agentId, sessionId }: NewMessage) => `${agentId} ${sessionId}`,
  maxBatchSize: MAX_BATCH_SIZE,
}

export function messageStore(gateway: Gateway): MessageStore {
  const { read, write, call, grouped } = gateway
  const runner = runnerOf(gateway)
  const countAccepted = earlyAnalyze({ read })
  const receivers = new KnownReceivers()
  const hooks = new KnownHooks()
  /** Accepts messages that take tokens of limits. */
  const acceptInTransaction = grouped<NewMessage, Accepted>({
    ...IN_SESSIONS,
    // Two batches of this process would wait for the same buckets.
    maxInFlight: 1,
    inTransaction: true,
    flush: (db, messages) => acceptLimited(db, messages, hooks),
  })
  const accept = grouped<NewMessage, Accepted>({
    ...IN_SESSIONS,
    flush: async (db, messages) => {
      const accepted = await acceptAll(db, messages, hooks)
      countAccepted(messages.length)
      return accepted
    },
  })
  return {
    ...messageLists(runner),
    ...messageChanges(runner),
    ...messageRemovals(runner),
    ...heldRuns(runner),
    cancel: (cancellation) => write((db) => published(db, cancelMessage, cancellation)),
    changeInput: (change) => write((db) => published(db, changeInput, change)),
    accept: (message) => (message.takes ? acceptInTransaction : accept)(message),
    claimRunnable: (query) => call((db) => claimRunnable(db, query)),
    recordRun: grouped<RunRecord, RecordedRun>({
      keyOf: ({ messageId }) => messageId,
      lengthOf: partsLength,
      maxBatchSize: MAX_BATCH_SIZE,
      flush: (db, runs) => recordRuns(db, runs, receivers, hooks),
    }),
    ask: (asking) => write((db) => published(db, askPerson, asking)),
    runs: runner.read(readRuns),
    parts: runner.read(readParts),
    history: (query) => read((db) => sessionHistory(db, query)),
    search: runner.read((search, page) => searchMessages(search, page)),
    erasePrincipal: (step) =>
      write((db) => perform(db, erasePrincipalMessages, step), MAX_LOCK_FAILURES),
  }
}

const partsLength = ({ parts, outgoing }: RunRecord): number =>
  parts ? JSON.stringify(parts).length + COPIES * (outgoing?.events[0]?.partsBody?.length ?? 0) : 0

async function published<In, T>(
  db: Queries,
  change: Operate<[In], Changed<T>>,
  input: In,
): Promise<T> {
  const { result, event } = await perform(db, change, input)
  return event ? { ...result, ...(await fanOut(db, ...event)) } : result
}

type Claims = Omit<ClaimRunnable, 'lanes'> & { readonly lanes: string }
/** `was` and `startedAt` are from the state of the message before the claim. */
type Claim = MessageFacts & {
  readonly token: number
  readonly sessionState: string | null
  readonly was: MessageStateKind
  readonly startedAt: number
  readonly isExhausted: boolean
}

const claimSql = call<Claims, Claim>(
  'select * from agent_messaging.claim_messages(@lanes, @now, @until)',
)

/** `MessageStore.claimRunnable`. A lane without due messages costs one descent of an index. */
async function claimRunnable(
  db: Queries,
  { lanes, now, until }: ClaimRunnable,
): Promise<ClaimedMessage[]> {
  const claims = await db.all(claimSql, { lanes: jsonRows(lanes), now, until })
  return claims.map(({ token, sessionState, was, startedAt, isExhausted, ...facts }) => {
    const lost = was === 'running' || was === 'deferred' ? was : undefined
    const lostRun = lost && interruptedRun({ ...facts, state: { kind: lost, startedAt } }, now)
    return {
      message: messageOf(facts, { kind: 'running', startedAt: now }),
      lease: { token, until },
      ...(lost && { lost }),
      ...(isExhausted && { isExhausted, lostRun }),
      ...(sessionState !== null && { sessionState }),
    }
  })
}

type PastRow = {
  readonly messageId: string
  readonly message: string
  readonly response: string | null
  readonly principal: string
  readonly earlierTurns: string | null
}

/** Messages that are searched for answers, as in the port. */
const MAX_ROWS = 5_000

/**
 * Measures the characters of messages and answers. A text has at least as many UTF-16 units, so all
 * fitting turns are here. Each row has a turn at least.
 */
const pastSql = sql<HistoryOf & { readonly rows: number }, PastRow>(`
  with place as (
    select m.session_seq, m.position from agent_messaging.messages m
      join agent_messaging.sessions s on s.seq = m.session_seq
      join agent_messaging.agents a on a.id = s.agent_id
    where m.id = @messageId),
  past as (
    select m.id, m.message, m.principal, m.position, m.earlier_turns,
      case when m.position < place.position then m.response end as response
    from agent_messaging.messages m join place on place.session_seq = m.session_seq
    where m.position <= place.position order by m.position desc limit @rows),
  turns as (
    select * from past where response is not null or earlier_turns is not null
    order by position desc limit greatest(@maxTurns::bigint, 0)),
  measured as (
    select *, coalesce(sum(char_length(message) + char_length(response))
      over (order by position desc), 0) as total
    from turns)
  select id as "messageId", message, response, principal, earlier_turns as "earlierTurns"
  from measured where total <= @maxLength::float8 order by position desc`)

/** `MessageStore.history`. */
async function sessionHistory(db: Queries, query: HistoryOf) {
  const rows = await db.all(pastSql, { ...query, rows: MAX_ROWS })
  const turns = rows.flatMap(({ principal, earlierTurns, ...row }) => [
    ...turnsOf({
      ...row,
      executionPrincipal: JSON.parse(principal) as ExecutionPrincipal,
      ...(earlierTurns !== null && { earlierTurns: JSON.parse(earlierTurns) as EarlierTurn[] }),
    }),
  ])
  return newestThatFit(turns, query)
}

/** With fewer rows every plan is as fast as any other. */
const FIRST_ROWS = 1_000

const unknownSql = sql(`
  select 1 from pg_class
  where oid = to_regclass('agent_messaging.messages') and reltuples < ${FIRST_ROWS}`)
const TABLES = ['messages', 'sessions', 'events', 'deliveries', 'attempts']
const analyzeSql = sql(`analyze ${TABLES.map((table) => `agent_messaging.${table}`).join(', ')}`)

/**
 * Runs ANALYZE once, after the first thousand messages of a new database. Otherwise lists have
 * plans for empty tables until autovacuum runs. No call waits for it, and its failure is ignored.
 */
function earlyAnalyze(gateway: Pick<Gateway, 'read'>): (rows: number) => void {
  let left = FIRST_ROWS
  return (rows) => {
    if (left <= 0) return
    left -= rows
    if (left > 0) return
    void gateway.read(async (db) => {
      if (await db.one(unknownSql, {})) await db.run(analyzeSql, {})
    })
  }
}
