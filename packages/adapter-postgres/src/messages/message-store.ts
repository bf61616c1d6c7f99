import {
  type Accepted,
  type MessageStore,
  type NewMessage,
  type RecordedRun,
  type RunRecord,
} from '@org/agent-messaging-core/storage'
import {
  askPerson,
  cancelMessage,
  changeInput,
  erasePrincipalMessages,
  heldRuns,
  insertHook,
  messageChanges,
  messageLists,
  messageRemovals,
  type Changed,
  type Operate,
} from '@org/agent-messaging-sql-kit'
import { acceptAll } from './accept-message.js'
import { messageActivity } from './activity.js'
import { claimRunnable } from './claim-runnable.js'
import { MAX_LOCK_FAILURES } from '../database/batch.js'
import type { Gateway, Queries } from '../database/gateway.js'
import { earlyAnalyze } from '../maintenance/early-analyze.js'
import { fanOut } from '../events/fan-out.js'
import { searchMessages } from './message-search.js'
import { perform, runnerOf } from '../database/operations.js'
import { KnownReceivers } from '../webhooks/receivers.js'
import { recordRuns } from './record-runs.js'
import { acceptLimited } from './send-buckets.js'
import { sessionHistory } from './session-history.js'
import { addUsage } from './usage-store.js'

/** 64 of the longest messages are 64 MB. */
const MAX_BATCH_SIZE = 64

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
  /** Accepts messages that have more to store, such as tokens of limits and hooks. */
  const acceptInTransaction = grouped<NewMessage, Accepted>({
    ...IN_SESSIONS,
    // Two batches of this process would wait for the same buckets.
    maxInFlight: 1,
    inTransaction: true,
    flush: async (db, messages) => {
      const accepted = await acceptLimited(db, messages)
      for (const [at, { hook }] of messages.entries())
        if (hook && isNew(accepted[at])) await perform(db, insertHook, hook)
      return accepted
    },
  })
  const accept = grouped<NewMessage, Accepted>({
    ...IN_SESSIONS,
    flush: async (db, messages) => {
      const accepted = await acceptAll(db, messages)
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
    accept: (message) => (message.takes || message.hook ? acceptInTransaction : accept)(message),
    claimRunnable: (query) => call((db) => claimRunnable(db, query)),
    recordRun: grouped<RunRecord, RecordedRun>({
      keyOf: ({ messageId }) => messageId,
      maxBatchSize: MAX_BATCH_SIZE,
      flush: (db, runs) => recordRuns(db, runs, receivers),
    }),
    ask: (asking) =>
      write(async (db) => {
        const recorded = await published(db, askPerson, asking)
        if (recorded.kind === 'recorded') await addUsage(db, asking)
        return recorded
      }),
    history: (query) => read((db) => sessionHistory(db, query)),
    search: (search, page) => read((db) => searchMessages(db, search, page)),
    activity: (query) => read((db) => messageActivity(db, query)),
    erasePrincipal: (step) =>
      write((db) => perform(db, erasePrincipalMessages, step), MAX_LOCK_FAILURES),
  }
}

async function published<In, T>(
  db: Queries,
  change: Operate<[In], Changed<T>>,
  input: In,
): Promise<T> {
  const { result, event } = await perform(db, change, input)
  return event ? { ...result, ...(await fanOut(db, ...event)) } : result
}

const isNew = (accepted: Accepted | undefined): boolean =>
  accepted?.kind === 'created' || accepted?.kind === 'claimed'
