import type { Database } from 'better-sqlite3'
import type { MessageRef, MessageStore } from '@org/agent-messaging-core'
import { acceptance } from './accept-message.js'
import { messageBacklog } from './backlog.js'
import { runnableClaims } from './claim-runnable.js'
import type { Committer } from './committer.js'
import type { FanOut } from './fan-out.js'
import { heldRuns } from './held-runs.js'
import { messageList } from './message-list.js'
import { selectMessage, toMessage, type MessageRow } from './message-row.js'
import { messagePurge } from './purge.js'
import { sessionHistory } from './session-history.js'
import type { SessionRows } from './session-row.js'

export function messageStore(db: Database, { read, write }: Committer, sessions: SessionRows, fanOut: FanOut): MessageStore {
  const accept = acceptance(db, sessions)
  const claimRunnable = runnableClaims(db, sessions)
  const held = heldRuns(db, sessions, fanOut)
  const history = sessionHistory(db)
  const list = messageList(db)
  const purge = messagePurge(db)
  const backlog = messageBacklog(db)
  const byRef = db.prepare<[MessageRef], MessageRow>(
    `${selectMessage} where m.id = @messageId and m.agent_id = @agentId and a.project_id = @projectId`,
  )
  const byId = db.prepare<[string], MessageRow>(`${selectMessage} where m.id = ?`)
  const ofIds = db.prepare<[string], MessageRow>(`${selectMessage} where m.id in (select value from json_each(?))`)
  const finalOnes = db.prepare<[string], MessageRow>(
    `${selectMessage} where m.id in (select value from json_each(?)) and m.state in ('responded', 'failed')`,
  )

  return {
    accept: (message) => write(() => accept(message)),
    claimRunnable: (query) => write(() => claimRunnable(query)),
    extendLeases: (leases, until) => write(() => leases.filter((lease) => !held.extend(lease, until)).map(({ messageId }) => messageId)),
    defer: (deferral) => write(() => held.defer(deferral)),
    recordRun: (run) => write(() => held.record(run)),
    rememberSession: (memory) => write(() => held.remember(memory)),
    history: (query) => read(() => history(query)),
    get: (ref) =>
      read(() => {
        const row = byRef.get(ref)
        return row && toMessage(row)
      }),
    getHeld: (messageId) =>
      read(() => {
        const row = byId.get(messageId)
        return row && { message: toMessage(row), token: row.lease }
      }),
    findFinal: (messageIds) => read(() => finalOnes.all(JSON.stringify(messageIds)).map(toMessage)),
    find: (messageIds) => read(() => ofIds.all(JSON.stringify(messageIds)).map(toMessage)),
    list: (filter, page) => read(() => list(filter, page)),
    purge: (query) => write(() => purge(query)),
    backlog: (now) => read(() => backlog(now)),
  }
}
