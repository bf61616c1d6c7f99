import type { Database } from 'better-sqlite3'
import type { MessageStore, SessionsOf } from '@org/agent-messaging-core/storage'
import { acceptance } from './accept-message.js'
import { messageActivity } from './activity.js'
import { messageBacklog } from './backlog.js'
import { runnableClaims } from './claim-runnable.js'
import type { Committer } from './committer.js'
import { principalMessages } from './erase-principal.js'
import type { Erasure } from './erasure.js'
import type { FanOut } from './fan-out.js'
import { heldRuns } from './held-runs.js'
import { messageChanges } from './message-changes.js'
import { messageList } from './message-list.js'
import {
  messageById,
  messageByRef,
  selectMessage,
  toMessage,
  type MessageRow,
} from './message-row.js'
import { messagePurge } from './purge.js'
import { sessionHistory } from './session-history.js'
import { sessionList } from './session-list.js'
import type { SessionRows } from './session-row.js'

type Parts = { readonly sessions: SessionRows; readonly fanOut: FanOut; readonly erasure: Erasure }

export function messageStore(
  db: Database,
  { read, write }: Committer,
  { sessions, fanOut, erasure }: Parts,
): MessageStore {
  const accept = acceptance(db, sessions)
  const claimRunnable = runnableClaims(db, sessions)
  const held = heldRuns(db, sessions, fanOut)
  const changes = messageChanges(db, sessions, fanOut)
  const history = sessionHistory(db)
  const list = messageList(db)
  const purge = messagePurge(db)
  const erasePrincipal = principalMessages(db, sessions)
  const activity = messageActivity(db)
  const backlog = messageBacklog(db)
  const listSessions = sessionList(db)
  const byRef = messageByRef(db)
  const isOurs = db
    .prepare<[SessionsOf], 1>(
      'select 1 from agents where id = @agentId and project_id = @projectId',
    )
    .pluck()
  const byId = messageById(db)
  const ofIds = db.prepare<[string], MessageRow>(
    `${selectMessage} where m.id in (select value from json_each(?))`,
  )
  const finalOnes = db.prepare<[string], MessageRow>(
    `${selectMessage} where m.id in (select value from json_each(?)) and m.state in ('responded', 'failed', 'cancelled')`,
  )

  function erase({
    agentId,
    projectId,
    sessionId,
    force,
  }: Parameters<MessageStore['erase']>[0]): 'erased' | 'busy' | undefined {
    const session = isOurs.get({ agentId, projectId }) && sessions.find(agentId, sessionId)
    if (!session) return undefined
    if (session.openCount > 0 && !force) return 'busy'
    erasure.add(sessions.disown(session.seq))
    return 'erased'
  }

  return {
    accept: (message) => write(() => accept(message)),
    claimRunnable: (query) => write(() => claimRunnable(query)),
    extendLeases: (leases, until) =>
      write(() =>
        leases.filter((lease) => !held.extend(lease, until)).map(({ messageId }) => messageId),
      ),
    defer: (deferral) => write(() => held.defer(deferral)),
    recordRun: (run) => write(() => held.record(run)),
    cancel: (cancellation) => write(() => changes.cancel(cancellation)),
    retry: (retry) => write(() => changes.retry(retry)),
    rememberSession: (memory) => write(() => held.remember(memory)),
    history: (query) => read(() => history(query)),
    get: (ref) =>
      read(() => {
        const row = byRef.get(ref)
        return row && toMessage(row)
      }),
    getHeld: (messageId) =>
      read(() => {
        const row = byId(messageId)
        return row && { message: toMessage(row), token: row.lease }
      }),
    findFinal: (messageIds) => read(() => finalOnes.all(JSON.stringify(messageIds)).map(toMessage)),
    find: (messageIds) => read(() => ofIds.all(JSON.stringify(messageIds)).map(toMessage)),
    list: (filter, page) => read(() => list(filter, page)),
    purge: (query) => write(() => purge(query)),
    activity: (query) => read(() => activity(query)),
    backlog: (now) => read(() => backlog(now)),
    listSessions: (agent, page) => read(() => listSessions(agent, page)),
    erase: (session) => write(() => erase(session)),
    // Between two writes everybody else has a turn, which reads one after the other leave to nobody.
    erasePrincipal: (step) => write(() => erasePrincipal(step)),
    sweep: ({ limit }) => write(() => erasure.sweep(limit)),
  }
}
