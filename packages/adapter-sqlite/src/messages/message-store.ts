import type { Database } from 'better-sqlite3'
import { toMessage, type MessageStore } from '@org/agent-messaging-core/storage'
import {
  cancelMessage,
  changeInput,
  eraseSession,
  messageChanges,
  messageLists,
  sweepErasures,
  type Changed,
} from '@org/agent-messaging-sql-kit'
import { acceptance } from './accept-message.js'
import { messageActivity } from './activity.js'
import { runnableClaims } from './claim-runnable.js'
import { entryOf, type AuditRows } from '../access/recorded.js'
import type { Committer } from '../database/committer.js'
import { principalMessages } from '../maintenance/erase-principal.js'
import type { FanOut } from '../events/fan-out.js'
import { hookSweep } from '../webhooks/hooks.js'
import { heldRuns } from './held-runs.js'
import { messageById } from './message-row.js'
import { runnerOf, type Perform } from '../database/operations.js'
import { messagePurge } from '../maintenance/purge.js'
import { searchInSteps } from './search-in-steps.js'
import { sessionHistory } from './session-history.js'
import type { SendBuckets } from './send-buckets.js'
import type { SessionRows } from './sessions.js'
import type { UsageRows } from './usage-store.js'

type Parts = {
  readonly sessions: SessionRows
  readonly fanOut: FanOut
  readonly usage: UsageRows
  readonly buckets: SendBuckets
  readonly perform: Perform
  readonly audit: AuditRows
}

export function messageStore(
  db: Database,
  committer: Committer,
  { sessions, fanOut, usage, buckets, perform, audit }: Parts,
): MessageStore {
  const accept = acceptance(db, sessions, { usage, buckets, perform })
  const claimRunnable = runnableClaims(db, sessions)
  const held = heldRuns(db, { sessions, fanOut, usage })
  const history = sessionHistory(db)
  const purge = messagePurge(db)
  const erasePrincipal = principalMessages(db, sessions)
  const activity = messageActivity(db)
  const sweepHooks = hookSweep(db)
  const byId = messageById(db)

  const runner = runnerOf(committer, perform)

  const published = <T>({ result, event }: Changed<T>): T =>
    event ? { ...result, ...fanOut(...event) } : result

  return {
    ...messageLists(runner),
    ...messageChanges(runner),
    cancel: (cancellation) =>
      committer.write(() => published(perform(cancelMessage, cancellation))),
    changeInput: (change) => committer.write(() => published(perform(changeInput, change))),
    accept: (message) => committer.write(() => accept(message)),
    claimRunnable: (query) => committer.write(() => claimRunnable(query)),
    extendLeases: (leases, until) =>
      committer.write(() =>
        leases.filter((lease) => !held.extend(lease, until)).map(({ messageId }) => messageId),
      ),
    defer: (deferral) => committer.write(() => held.defer(deferral)),
    recordRun: (run) => committer.write(() => held.record(run)),
    ask: (asking) => committer.write(() => held.ask(asking)),
    rememberSession: (memory) => committer.write(() => held.remember(memory)),
    history: (query) => committer.read(() => history(query)),
    getHeld: (messageId) =>
      committer.read(() => {
        const row = byId(messageId)
        return row && { message: toMessage(row), token: row.lease }
      }),
    search: searchInSteps(db, committer),
    purge: (query) => committer.write(() => purge(query)),
    activity: (query) => committer.read(() => activity(query)),
    erase: (session) => committer.write(() => perform(eraseSession, session)),
    // A write even to count, because other operations run between two writes.
    erasePrincipal: (step) =>
      committer.write(() => audit.recordedRows(entryOf(step), erasePrincipal(step), 'messages')),
    sweep: ({ limit }) => committer.write(() => perform(sweepErasures, limit) + sweepHooks(limit)),
  }
}
