// The equal-promise floor on SQLite: one hand-written server that makes the same commits of the
// same rows as the service, signs and sends the same requests, and does nothing else. A prepared
// database has the tables, the key, the agent and the webhooks. Left out: failures, retries, other
// processes' claims, and messages behind an open one of their session, which stay queued.
import Database from 'better-sqlite3'
import { answer } from '../processes/answer.mjs'
import { drained } from '../processes/drained.mjs'
import { agent, ids, respondedBody, serveRequests } from './http.mjs'
import { headerNames, Sender } from './webhooks.mjs'

const { database, headers, deliveries, url } = JSON.parse(process.argv[2])
const LEASE_MS = 30_000
/** Attempts wait this long for other writes, or until their number reaches `LINGERING`. */
const LINGER_MS = 40
const LINGERING = 128
/** Deliveries of one claim. The next claim follows when fewer than that wait. */
const CLAIM = 256
const EVENT = 'message.responded'

const db = new Database(database)
for (const setting of [
  'journal_mode = wal',
  'synchronous = full',
  'foreign_keys = on',
  'cache_size = -16384',
  'temp_store = memory',
  'wal_autocheckpoint = 4000',
])
  db.pragma(setting)

const begin = db.prepare('begin immediate')
const commit = db.prepare('commit')
const version = db.prepare('pragma data_version').pluck()

/** Writes of one turn of the event loop share a commit. */
let writes = []
let isDue = false
let lingering

function write(operate, value) {
  return new Promise((resolve) => {
    writes.push({ operate, value, resolve })
    flushSoon()
  })
}

function writeAlong(operate, value) {
  writes.push({ operate, value, resolve: ignore })
  if (writes.length >= LINGERING) flushSoon()
  else if (!isDue) lingering ??= setTimeout(flush, LINGER_MS)
}

function flushSoon() {
  if (isDue) return
  isDue = true
  setImmediate(flush)
}

function flush() {
  isDue = false
  clearTimeout(lingering)
  lingering = undefined
  const batch = writes
  writes = []
  begin.run()
  forgetIfChanged()
  const results = []
  for (const { operate, value } of batch) results.push(operate(value))
  commit.run()
  for (let n = 0; n < batch.length; n++) batch[n].resolve(results[n])
}

const ignore = () => undefined

// Keys, agents and webhooks are read again after any other process has changed the database.
let seenVersion
const callers = new Map()
const receivers = new Map()

function forgetIfChanged() {
  const now = version.get()
  if (now === seenVersion) return
  seenVersion = now
  callers.clear()
  receivers.clear()
}

function cached(map, key, load) {
  let value = map.get(key)
  if (value === undefined) map.set(key, (value = load()))
  return value
}

const sql = {
  caller: db.prepare(`
    select a.id as agentId, a.project_id as projectId, a.default_principal as principal,
      a.max_queued as maxQueued, k.expires_at as expiresAt
    from api_keys k join agents a on a.project_id = k.project_id and (a.name = @agent or a.id = @agent)
    where k.digest = @digest and k.revoked_at is null and a.state = 'running'
      and instr(k.permissions, 'project:message') > 0`),
  publisher: db.prepare(`
    select project_id as projectId, expires_at as expiresAt from api_keys
    where digest = ? and revoked_at is null and instr(permissions, 'project:publish') > 0`),
  published: db.prepare('select fingerprint from events where id = ? and project_id = ?').pluck(),
  existing: db.prepare(
    'select id, agent_id as agentId, response from messages where agent_id = ? and idempotency_key = ?',
  ),
  enqueue: db
    .prepare(
      `insert into sessions (agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id, last_message_at)
       values (?, ?, 1, 1, 1, ?, 1, ?, ?)
       on conflict (agent_id, session_id) do update set
         last_position = last_position + 1, open_count = open_count + 1,
         due_at = coalesce(due_at, excluded.due_at), lease = lease + (due_at is null),
         last_message_id = max(last_message_id, excluded.last_message_id),
         last_message_at = max(last_message_at, excluded.last_message_at)
         where open_count <= ?
       returning seq, last_position, lease, head_position = last_position`,
    )
    .raw(),
  insertMessage: db.prepare(
    `insert into messages (id, agent_id, session_seq, position, idempotency_key, fingerprint, message, metadata, principal,
       attempt, state, not_before, started_at, created_at, open_until)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  respond: db.prepare(
    `update messages set state = 'responded', started_at = null, finished_at = ?, response_time_ms = ?, response = ?
     where seq = ? and state = 'running'`,
  ),
  advance: db.prepare(
    `update sessions set open_count = open_count - 1, due_at = case when open_count > 1 then ? end,
       head_position = case when open_count > 1
         then (select position from messages where session_seq = sessions.seq
           and position > sessions.head_position and state = 'queued' order by position limit 1)
         else last_position + 1 end
     where seq = ? and lease = ?`,
  ),
  receivers: db.prepare(
    `select w.seq, w.url from subscriptions s join webhooks w on w.seq = s.webhook_seq
     where s.project_id = ? and s.event in ('*', ?) and w.is_deleted = 0
       and w.disabled_at is null and w.paused = 0`,
  ),
  insertEvent: db.prepare(
    `insert into events (id, project_id, has_deliveries, message_id, session_id, name, body, created_at)
     values (?, ?, ?, ?, ?, '${EVENT}', ?, ?)`,
  ),
  insertPublished: db.prepare(
    `insert into events (id, project_id, has_deliveries, session_id, name, body, fingerprint, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  insertDelivery: db.prepare(
    `insert into deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step, attempt_count, is_claimed, due_at, lease, created_at)
     values (?, ?, ?, ?, ?, 'pending', 0, 0, 1, ?, 1, ?)`,
  ),
  sending: db.prepare(
    'select seq, url from webhooks where is_deleted = 0 and disabled_at is null and paused = 0',
  ),
  due: db
    .prepare(
      `select d.seq, d.id, d.lease + 1, e.name, e.body from deliveries d cross join events e on e.seq = d.event_seq
       where d.receiver_seq = ? and (d.attempt_count > 0) = 0 and d.due_at <= ? order by d.due_at limit ?`,
    )
    .raw(),
  claim: db.prepare(
    'update deliveries set is_claimed = 1, due_at = ?, lease = lease + 1 where seq = ?',
  ),
  delivered: db
    .prepare(
      `update deliveries set state = 'delivered', is_claimed = 0, due_at = null, resume_at = null, finished_at = ?,
         attempt_count = attempt_count + 1
       where seq = ? and lease = ? and state = 'pending' returning attempt_count`,
    )
    .pluck(),
  insertAttempt: db.prepare(
    `insert into attempts (delivery_seq, attempt_number, started_at, duration_ms, url, outcome, header_names_seq, header_values)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
}
const headerNamesSeq = seqOfHeaderNames()

function seqOfHeaderNames() {
  const find = db.prepare('select seq from header_names where names = ?').pluck()
  db.prepare('insert into header_names (names) values (?) on conflict do nothing').run(headerNames)
  return find.get(headerNames)
}

/** Checks the key, the agent and the idempotency key, and stores the message as running. */
function accept(message) {
  const { digest, id, key, now, sessionId, metadata } = message
  const caller = cached(callers, `${digest} ${message.agent}`, () => sql.caller.get(message))
  if (!caller || (caller.expiresAt ?? Infinity) <= now) return undefined
  const { agentId, principal } = caller
  const existing = key === null ? undefined : sql.existing.get(agentId, key)
  if (existing) return { existing }
  const place = sql.enqueue.get(agentId, sessionId, now + LEASE_MS, id, now, caller.maxQueued)
  if (!place) return undefined
  const [sessionSeq, position, lease, isHead] = place
  const { lastInsertRowid: seq } = sql.insertMessage.run(
    id,
    agentId,
    sessionSeq,
    position,
    key,
    message.fingerprint,
    message.message,
    metadata === undefined ? null : JSON.stringify(metadata),
    principal,
    isHead,
    isHead === 1 ? 'running' : 'queued',
    isHead === 1 ? null : now,
    isHead === 1 ? now : null,
    now,
    now,
  )
  return { message, caller, seq, sessionSeq, lease, isHead }
}

/** Stores the answer with its event and deliveries. Returns the deliveries, which are claimed. */
function settle({ run, response, now }) {
  const { message, caller, seq, sessionSeq, lease } = run
  const { agentId, projectId, principal } = caller
  if (sql.advance.run(now, sessionSeq, lease).changes === 0) return undefined
  if (sql.respond.run(now, now - message.now, response, seq).changes === 0) return undefined
  const webhooks = receiversOf(projectId, EVENT)
  const eventId = ids.next()
  const { sessionId } = message
  const body = respondedBody({
    eventId,
    message,
    agentId,
    principal: JSON.parse(principal),
    response,
    now,
  })
  const has = webhooks.length > 0 ? 1 : 0
  const { lastInsertRowid: eventSeq } = sql.insertEvent.run(
    eventId,
    projectId,
    has,
    message.id,
    sessionId,
    body,
    now,
  )
  return bornOf({ projectId, webhooks, eventSeq, event: EVENT, body, now })
}

const receiversOf = (projectId, event) =>
  cached(receivers, `${projectId} ${event}`, () => sql.receivers.all(projectId, event))

const bornOf = ({ projectId, webhooks, eventSeq, event, body, now }) =>
  webhooks.map(({ seq: webhookSeq, url }) => {
    const id = ids.next()
    const until = now + LEASE_MS
    const inserted = sql.insertDelivery.run(
      id,
      projectId,
      webhookSeq,
      webhookSeq,
      eventSeq,
      until,
      now,
    )
    return { seq: inserted.lastInsertRowid, id, lease: 1, event, body, url }
  })

/** Checks the key and the id, and stores the event. Returns its deliveries, which are claimed. */
function tell({ digest, id, type, sessionId, fingerprint, body, now }) {
  const publisher = cached(callers, digest, () => sql.publisher.get(digest))
  if (!publisher || (publisher.expiresAt ?? Infinity) <= now) return undefined
  const { projectId } = publisher
  const known = sql.published.get(id, projectId)
  if (known !== undefined) return known === fingerprint ? [] : undefined
  const webhooks = receiversOf(projectId, type)
  const has = webhooks.length > 0 ? 1 : 0
  const values = [id, projectId, has, sessionId, type, body, fingerprint, now]
  const { lastInsertRowid: eventSeq } = sql.insertPublished.run(...values)
  return bornOf({ projectId, webhooks, eventSeq, event: type, body, now })
}

async function publish(event) {
  const born = await write(tell, event)
  for (const delivery of born ?? []) sender.send(delivery)
  return born !== undefined
}

async function send(message) {
  const run = await write(accept, message)
  if (run === undefined) return undefined
  if (run.existing) return run.existing
  const { agentId } = run.caller
  if (run.isHead === 0) return { id: message.id, agentId, response: null }
  const response = await agent(message)
  const born = await write(settle, { run, response, now: Date.now() })
  if (born === undefined) return undefined
  for (const delivery of born) sender.send(delivery)
  return { id: message.id, agentId, response }
}

let delivered = 0
let isClaiming = false
let isDrained = true
const sender = new Sender({
  onAttempt: (delivery) => writeAlong(record, delivery),
  onRoom: () => void claimMore(),
})

function record({ seq, lease, startedAt, durationMs, url, outcome, headerValues }) {
  const number = sql.delivered.get(startedAt + durationMs, seq, lease)
  if (number === undefined) return
  const json = JSON.stringify(outcome)
  sql.insertAttempt.run(seq, number, startedAt, durationMs, url, json, headerNamesSeq, headerValues)
  delivered++
}

/** Claims due deliveries of each webhook in equal shares. */
function claimDue(now) {
  const webhooks = sql.sending.all()
  const share = Math.ceil(CLAIM / webhooks.length)
  const claimed = []
  for (const { seq: webhookSeq, url } of webhooks) {
    for (const [seq, id, lease, event, body] of sql.due.all(webhookSeq, now, share)) {
      sql.claim.run(now + LEASE_MS, seq)
      claimed.push({ seq, id, lease, event, body, url })
    }
  }
  return claimed
}

async function claimMore() {
  if (isClaiming || isDrained || sender.waiting >= CLAIM) return
  isClaiming = true
  const claimed = await write(claimDue, Date.now())
  isClaiming = false
  isDrained = claimed.length === 0
  for (const delivery of claimed) sender.send(delivery)
}

async function drain({ uncounted }) {
  db.prepare('update webhooks set disabled_at = null, disabled_reason = null').run()
  isDrained = false
  void claimMore()
  return drained(() => delivered, { uncounted, deliveries })
}
const { pathname = '' } = url ? new URL(url) : {}
answer({ url: await serveRequests(pathname, { send, publish }), headers }, { drain })
