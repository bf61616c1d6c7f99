import type { Database } from 'better-sqlite3'
import type { MessageStore } from '@org/agent-messaging-core/storage'
import {
  askPerson,
  cancelMessage,
  changeInput,
  erasePrincipalMessages,
  heldRuns,
  messageChanges,
  messageLists,
  messageRemovals,
  type Changed,
} from '@org/agent-messaging-sql-kit'
import { acceptance } from './accept-message.js'
import { messageActivity } from './activity.js'
import { runnableClaims } from './claim-runnable.js'
import type { GroupCommitter } from '../database/group-committer.js'
import type { FanOut } from '../events/fan-out.js'
import { runRecords } from './record-runs.js'
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
  committer: GroupCommitter,
  { sessions, fanOut, usage, buckets, perform }: Parts,
): MessageStore {
  const accept = acceptance(db, sessions, { usage, buckets, perform })
  const claimRunnable = runnableClaims(db, sessions)
  const recordRun = runRecords(db, { sessions, fanOut, usage })
  const history = sessionHistory(db)
  const activity = messageActivity(db)

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
    ask: (asking) =>
      committer.write(() => {
        const recorded = published(perform(askPerson, asking))
        if (recorded.kind === 'recorded') usage.add(asking.usage)
        return recorded
      }),
    history: (query) => committer.read(() => history(query)),
    search: searchInSteps(db, committer),
    activity: (query) => committer.read(() => activity(query)),
    // A write even to count, because other operations run between two writes.
    erasePrincipal: runner.write(erasePrincipalMessages),
  }
}
