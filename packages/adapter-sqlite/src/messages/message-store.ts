import type { Database } from 'better-sqlite3'
import { toMessage, type MessageStore } from '@org/agent-messaging-core/storage'
import {
  cancelMessage,
  changeInput,
  erasePrincipalMessages,
  messageChanges,
  messageLists,
  messageRemovals,
  type Changed,
} from '@org/agent-messaging-sql-kit'
import { acceptance } from './accept-message.js'
import { messageActivity } from './activity.js'
import { runnableClaims } from './claim-runnable.js'
import type { Committer } from '../database/committer.js'
import type { FanOut } from '../events/fan-out.js'
import { heldRuns } from './held-runs.js'
import { messageById } from './message-row.js'
import { runnerOf, type Perform } from '../database/operations.js'
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
}

export function messageStore(
  db: Database,
  committer: Committer,
  { sessions, fanOut, usage, buckets, perform }: Parts,
): MessageStore {
  const accept = acceptance(db, sessions, { usage, buckets, perform })
  const claimRunnable = runnableClaims(db, sessions)
  const held = heldRuns(db, { sessions, fanOut, usage })
  const history = sessionHistory(db)
  const activity = messageActivity(db)
  const byId = messageById(db)

  const runner = runnerOf(committer, perform)

  const published = <T>({ result, event }: Changed<T>): T =>
    event ? { ...result, ...fanOut(...event) } : result

  return {
    ...messageLists(runner),
    ...messageChanges(runner),
    ...messageRemovals(runner),
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
    activity: (query) => committer.read(() => activity(query)),
    // A write even to count, because other operations run between two writes.
    erasePrincipal: runner.write(erasePrincipalMessages),
  }
}
