import type { ExecutionPrincipal } from '@org/agent-messaging-core'
import type { EarlierTurn, Turn } from '@org/agent-messaging-core/runtime'
import {
  allowedAttempts,
  claimedAttempt,
  holdsRun,
  interruptedRun,
  isExhausted,
  messageOf,
  newestThatFit,
  NO_CLAIMS,
  toMessage,
  turnsOf,
  type ClaimedMessage,
  type ClaimRunnable,
  type HistoryOf,
  type MessageRow,
  type MessageStore,
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
  keepParts,
  keepRun,
  messageChanges,
  messageLists,
  messageRemovals,
  readParts,
  readRuns,
} from '@org/agent-messaging-sql-kit'
import type { Database } from 'better-sqlite3'
import type { GroupCommitter } from '../database/group-committer.js'
import { type Perform, runnerOf } from '../database/operations.js'
import { atMost } from '../database/statements.js'
import type { FanOut } from '../events/fan-out.js'
import { acceptance } from './accept-message.js'
import { messageById, selectMessage, stateWriter } from './message-row.js'
import { searchInSteps } from './search-in-steps.js'
import type { SendBuckets } from './send-buckets.js'
import type { SessionPlace, SessionRows } from './sessions.js'
import type { CountEntries } from './counts.js'

type Parts = {
  readonly sessions: SessionRows
  readonly fanOut: FanOut
  readonly counts: CountEntries
  readonly buckets: SendBuckets
  readonly perform: Perform
}

export function messageStore(
  db: Database,
  committer: GroupCommitter,
  { sessions, fanOut, counts, buckets, perform }: Parts,
): MessageStore {
  const accept = acceptance(db, sessions, { counts, buckets, perform })
  const claimRunnable = runnableClaims(db, { sessions, perform })
  const recordRun = runRecords(db, { sessions, fanOut, counts, perform })
  const history = sessionHistory(db)

  const runner = runnerOf(committer, perform)

  const published = <T>({ result, event }: Changed<T>): T =>
    event ? { ...result, ...fanOut(...event) } : result

  return {
    ...messageLists(runner),
    ...messageChanges(runner),
    ...messageRemovals(runner),
    ...heldRuns(runner),
    cancel: (cancellation) =>
      committer.write(() => published(perform(cancelMessage, cancellation))),
    changeInput: (change) => committer.write(() => published(perform(changeInput, change))),
    accept: (message) => committer.write(() => accept(message)),
    claimRunnable: (query) => committer.write(() => claimRunnable(query)),
    recordRun: (run) => committer.write(() => recordRun(run)),
    ask: (asking) => committer.write(() => published(perform(askPerson, asking))),
    parts: runner.read(readParts),
    runs: runner.read(readRuns),
    history: (query) => committer.read(() => history(query)),
    search: searchInSteps(committer, perform),
    // A write even to count, because other operations run between two writes.
    erasePrincipal: runner.write(erasePrincipalMessages),
  }
}

/**
 * `MessageStore.claimRunnable`, in a transaction. A lane without due messages costs one index
 * descent.
 */
function runnableClaims(db: Database, { sessions, perform }: Pick<Parts, 'sessions' | 'perform'>) {
  const headOf = db.prepare<[number], MessageRow>(
    `${selectMessage} where s.seq = +? and m.session_seq = s.seq and m.position = s.head_position`,
  )
  const writeState = stateWriter(db)

  function claim(sessionSeq: number, { now, until }: ClaimRunnable): ClaimedMessage[] {
    const head = headOf.get(sessionSeq)
    if (!head) return []
    const { token, sessionState, maxAttempts } = sessions.claim(sessionSeq, until)
    const before = toMessage(head)
    const allowed = allowedAttempts(maxAttempts, before)
    const hasNoneLeft = isExhausted(head.attempt, allowed)
    const lost = head.state === 'running' || head.state === 'deferred' ? head.state : undefined
    const lostRun = interruptedRun(before, now)
    if (lostRun && !hasNoneLeft) perform(keepRun, head.id, lostRun)
    const attempt = claimedAttempt(head.attempt, allowed)
    const state = { kind: 'running', startedAt: now } as const
    writeState(head.seq, attempt, state)
    const message = messageOf(head, state, attempt)
    return [
      {
        message,
        lease: { token, until },
        ...(lost && { lost }),
        ...(hasNoneLeft && { isExhausted: true, lostRun }),
        ...(sessionState !== null && { sessionState }),
      },
    ]
  }

  return (query: ClaimRunnable) => {
    const { lanes, now } = query
    const waiting = sessions.waiting(
      lanes.map(({ agentId }) => agentId),
      now,
    )
    return lanes
      .filter(({ agentId }) => waiting.has(agentId))
      .flatMap(({ agentId, free }) => sessions.due(agentId, now, free))
      .flatMap((sessionSeq) => claim(sessionSeq, query))
  }
}

/** `MessageStore.recordRun`, in a transaction. */
function runRecords(
  db: Database,
  { sessions, fanOut, counts, perform }: Pick<Parts, 'sessions' | 'fanOut' | 'counts' | 'perform'>,
) {
  const byId = messageById(db)
  const writeState = stateWriter(db)

  return (run: RunRecord): RecordedRun => {
    const { messageId, token, state, now, outgoing, ended, parts, count } = run
    const row = byId(messageId)
    const isHead = row?.position === row?.headPosition
    if (!row || !holdsRun({ state: row.state, lease: row.lease, isHead }, token))
      return { kind: 'lease_lost' }
    counts.add(count)
    if (ended) perform(keepRun, messageId, ended)
    if (parts) perform(keepParts, messageId, parts)
    writeState(row.seq, row.attempt, state)
    if (state.kind === 'queued') sessions.holdUntil(row.sessionSeq, state.notBefore)
    const sessionWaits = state.kind === 'queued' || sessions.advance(row.sessionSeq, now)
    const { deliveries, skipped } = outgoing ? fanOut(outgoing, row) : NO_CLAIMS
    const message = messageOf(row, state)
    return { kind: 'recorded', message, deliveries, skipped, sessionWaits }
  }
}

type Position = Pick<SessionPlace, 'sessionSeq' | 'position'>
type PastRow = {
  readonly messageId: string
  readonly message: string
  readonly response: string | null
  readonly principal: string
  readonly earlierTurns: string | null
}

/** Messages that are read at most, with or without an answer. */
const ROWS_AT_MOST = 5_000

/** `MessageStore.history`. Reads one row at a time, and stops at the limit. */
function sessionHistory(db: Database) {
  const placeOf = db.prepare<[string], Position>(`
    select m.session_seq as sessionSeq, m.position
    from messages m join sessions s on s.seq = m.session_seq join agents a on a.id = s.agent_id where m.id = ?`)
  const before = db.prepare<[Position & { rows: number }], PastRow>(`
    select id as messageId, message, iif(position < @position, response, null) as response, principal, earlier_turns as earlierTurns
    from messages
    where session_seq = @sessionSeq and position <= @position order by position desc ${atMost('@rows')}`)

  function* turnsBefore(messageId: string): Generator<Turn> {
    const place = placeOf.get(messageId)
    if (!place) return
    for (const { principal, earlierTurns, ...row } of before.iterate({
      ...place,
      rows: ROWS_AT_MOST,
    })) {
      if (row.response === null && earlierTurns === null) continue
      yield* turnsOf({
        ...row,
        executionPrincipal: JSON.parse(principal) as ExecutionPrincipal,
        ...(earlierTurns !== null && { earlierTurns: JSON.parse(earlierTurns) as EarlierTurn[] }),
      })
    }
  }

  return ({ messageId, ...limit }: HistoryOf) => newestThatFit(turnsBefore(messageId), limit)
}
