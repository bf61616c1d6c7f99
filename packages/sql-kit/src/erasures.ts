import type { SessionErasure, SessionsOf, Sweep } from '@org/agent-messaging-core/storage'
import { record } from './audit.js'
import { atMost } from './dialect.js'
import { all, one, run, sql, type Operation } from './operation.js'
import { eraseLeft } from './published-events.js'
import { LEAVING, leaveMessages, type Leaver } from './retried-messages.js'

// To erase messages, a store first gives their session an owner that is not an agent. Readers find
// messages only by the agent of their session. So an erasure of a million rows is one small commit,
// and a crash never shows a part of it. The sweep deletes the rows later.

type Owner = { readonly owner: string }
type Seq = { readonly seq: number }

const insert = sql<Owner>(
  ({ schema }) => `insert into ${schema}erasures (agent_id) values (@owner) on conflict do nothing`,
)
/** Concurrent sweeps take different owners. */
const oldest = sql<object, Owner>(
  ({ schema, lock }) => `
    select agent_id as owner from ${schema}erasures order by seq limit 1
    ${lock('update skip locked')}`,
)
const finish = sql<Owner>(({ schema }) => `delete from ${schema}erasures where agent_id = @owner`)
const sessionOf = sql<Owner, Seq>(
  ({ schema, lock }) =>
    `select seq from ${schema}sessions where agent_id = @owner limit 1 ${lock('update')}`,
)
const removeSession = sql<Seq>(({ schema }) => `delete from ${schema}sessions where seq = @seq`)
const removeMessages = sql<Seq & { readonly limit: number }, Leaver>(
  ({ schema, among }) => `
    delete from ${schema}messages where ${among(
      'seq',
      `select seq from ${schema}messages where session_seq = @seq ${atMost('@limit')}`,
    )} returning ${LEAVING}`,
)
const agentExists = sql<SessionsOf>(
  ({ schema }) => `select 1 from ${schema}agents where id = @agentId and project_id = @projectId`,
)
const lockSession = sql<SessionErasure, Seq & { readonly openCount: number }>(
  ({ schema, lock }) => `
    select seq, open_count as "openCount" from ${schema}sessions
    where agent_id = @agentId and session_id = @sessionId ${lock('update')}`,
)
const disown = sql<Owner & Seq>(
  ({ schema }) => `update ${schema}sessions set agent_id = @owner, due_at = null where seq = @seq`,
)

/** Marks the sessions of an owner, which is not an agent any more, for the sweep. */
export function* addErasure(owner: string): Operation<void> {
  yield* run(insert, { owner })
}

/** `MessageStore.erase`. */
export function* eraseSession(erasure: SessionErasure): Operation<'erased' | 'busy' | undefined> {
  if (!(yield* one(agentExists, erasure))) return undefined
  const session = yield* one(lockSession, erasure)
  if (!session) return undefined
  if (session.openCount > 0) return 'busy'
  const owner = `erased session ${session.seq}`
  yield* run(disown, { ...session, owner })
  yield* addErasure(owner)
  yield* record(erasure.audit)
  return 'erased'
}

/** Deletes up to `limit` rows of marked sessions, and events of agents. Returns their number. */
export function* sweepErasures({ limit, now }: Sweep): Operation<number> {
  let removed = 0
  while (removed < limit) {
    const erased = yield* one(oldest, {})
    if (!erased) break
    const session = yield* one(sessionOf, erased)
    if (!session) {
      removed += yield* eraseLeft({ ...erased, limit: limit - removed, now })
      if (removed < limit) yield* run(finish, erased)
    } else {
      const left = yield* all(removeMessages, { ...session, limit: limit - removed })
      yield* leaveMessages(left)
      removed += left.length
      if (removed < limit) removed += yield* run(removeSession, session)
    }
  }
  return removed
}
