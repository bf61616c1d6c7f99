// The equal-promise floor on PostgreSQL: see sqlite.mjs. Accept and settle are one statement each,
// so a lone send makes two round trips.
import { createHash } from 'node:crypto'
import pg from 'pg'
import { answer } from '../processes/answer.mjs'
import { drained } from '../processes/drained.mjs'
import { agent, ids, respondedBody, serveRequests } from './http.mjs'
import { headerNames, Sender } from './webhooks.mjs'

const { database, headers, deliveries, url } = JSON.parse(process.argv[2])
const LEASE_MS = 30_000
/** Attempts wait this long for others, or until their number reaches `LINGERING`. */
const LINGER_MS = 40
const LINGERING = 128
const MAX_BATCH = 256
/** Deliveries of one claim. The next claim follows when fewer than that wait. */
const CLAIM = 512
/** Plans of empty tables read whole indexes. */
const ANALYZE_AFTER = 1_000
const EVENT = 'message.responded'

// Plans are made once per connection. Each row is looked up through an index.
const plans = [
  'plan_cache_mode=force_generic_plan',
  ...['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin', 'sort'].map((way) => `enable_${way}=off`),
  'jit=off',
]
const types = {
  getTypeParser: (id, format) =>
    id === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(id, format),
}
const pool = new pg.Pool({
  connectionString: database,
  types,
  max: 8,
  options: plans.map((plan) => `-c ${plan}`).join(' '),
})

/** Collects values while `inFlight` batches are written, and at most for `lingerMs`. */
function grouped(writeAll, { inFlight, lingerMs = 0, keyOf }) {
  let waiting = []
  let running = 0
  let isDue = false
  let timer

  function schedule() {
    if (isDue || running === inFlight || waiting.length === 0) return
    if (lingerMs === 0 || waiting.length >= LINGERING) soon()
    else timer ??= setTimeout(soon, lingerMs)
  }

  function soon() {
    clearTimeout(timer)
    timer = undefined
    isDue = true
    setImmediate(() => {
      isDue = false
      void start(take())
    })
  }

  /** Takes the oldest entries. Two with one key are never in one batch. */
  function take() {
    const keys = new Set()
    const rest = []
    const batch = waiting.filter((entry) => {
      const key = keyOf ? keyOf(entry.value) : entry
      const fits = keys.size < MAX_BATCH && !keys.has(key)
      if (fits) keys.add(key)
      else rest.push(entry)
      return fits
    })
    waiting = rest
    return batch
  }

  async function start(batch) {
    running++
    schedule()
    const results = await writeAll(batch.map(({ value }) => value))
    running--
    schedule()
    for (const [n, { resolve }] of batch.entries()) resolve(results?.[n])
  }

  return (value) =>
    new Promise((resolve) => {
      waiting.push({ value, resolve })
      schedule()
    })
}

const column = (rows, name) => rows.map((row) => row[name])

const acceptSql = `
  with given as materialized (
    select g.*, a.id as agent_id, a.project_id, a.default_principal as principal, a.max_queued
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
        $8::text[], $9::bigint[])
      with ordinality as g (digest, agent, session_id, id, key, fingerprint, message, metadata, now, place)
    join agent_messaging.api_keys k on k.digest = g.digest and k.revoked_at is null
      and coalesce(k.expires_at, g.now + 1) > g.now and strpos(k.permissions, 'project:message') > 0
    join agent_messaging.agents a on a.project_id = k.project_id and a.name = g.agent and a.state = 'running'
    where not exists (select 1 from agent_messaging.messages m
      where m.agent_id = a.id and m.idempotency_key = g.key)
    order by g.session_id),
  queued as (
    insert into agent_messaging.sessions as s (agent_id, session_id, last_position, head_position,
      open_count, due_at, lease, last_message_id, last_message_at)
    select agent_id, session_id, 1, 1, 1, now + ${LEASE_MS}, 1, id, now from given
    on conflict (agent_id, session_id) do update set
      last_position = s.last_position + 1, open_count = s.open_count + 1,
      due_at = coalesce(s.due_at, excluded.due_at), lease = s.lease + (s.due_at is null)::int,
      last_message_id = greatest(s.last_message_id, excluded.last_message_id),
      last_message_at = greatest(s.last_message_at, excluded.last_message_at)
    returning s.seq, s.session_id, s.last_position, s.lease, s.head_position = s.last_position as is_head),
  born as materialized (
    select g.*, q.seq as session_seq, q.last_position, q.lease, q.is_head
    from given g join queued q on q.session_id = g.session_id collate "C"),
  written as (
    insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key,
      fingerprint, message, metadata, principal, attempt, state, not_before, started_at, created_at,
      open_until)
    select id, agent_id, session_seq, last_position, key, fingerprint, message, metadata, principal,
      is_head::int, case when is_head then 'running' else 'queued' end,
      case when not is_head then now end, case when is_head then now end, now, now
    from born)
  select place, agent_id as "agentId", project_id as "projectId", principal,
    session_seq as "sessionSeq", lease, is_head as "isHead"
  from born`
const existingSql = `
  select m.id, m.agent_id as "agentId", m.response from agent_messaging.api_keys k
    join agent_messaging.agents a on a.project_id = k.project_id and a.name = $2
    join agent_messaging.messages m on m.agent_id = a.id and m.idempotency_key = $3
  where k.digest = $1 and k.revoked_at is null`
// The n-th receiver of an event gets the n-th of its ids. A missing id fails the statement.
const settleSql = `
  with given as materialized (
    select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[],
        $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::text[])
      with ordinality as g (id, session_seq, lease, response, project_id, session_id, event_id, body,
        now, created_at, delivery_ids, place)
    order by session_seq),
  moved as (
    update agent_messaging.sessions s set open_count = s.open_count - 1,
      due_at = case when s.open_count > 1 then g.now end,
      head_position = case when s.open_count = 1 then s.last_position + 1
        else (select m.position from agent_messaging.messages m
          where m.session_seq = s.seq and m.position > s.head_position and m.state = 'queued'
          order by m.position limit 1) end
    from given g where s.seq = g.session_seq and s.lease = g.lease
    returning g.*),
  written as (
    update agent_messaging.messages m set state = 'responded', started_at = null,
      finished_at = g.now, response_time_ms = g.now - g.created_at, response = g.response
    from moved g where m.id = g.id and m.state = 'running'),
  heard as materialized (
    select g.*, nextval('agent_messaging.events_seq_seq') as event_seq from moved g),
  receiver as materialized (
    select s.project_id, w.seq, w.url, row_number() over (order by w.seq) as nth
    from agent_messaging.subscriptions s join agent_messaging.webhooks w on w.seq = s.webhook_seq
    where s.project_id = ($5::text[])[1] and s.event = any(array['*', '${EVENT}'])
      and not w.is_deleted and w.disabled_at is null and not w.paused),
  told as (
    insert into agent_messaging.events (seq, id, project_id, has_deliveries, message_id, session_id,
        name, body, created_at)
      overriding system value
    select event_seq, event_id, project_id, exists (select from receiver), id, session_id,
      '${EVENT}', body, now
    from heard),
  born as (
    insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step,
      attempt_count, due_at, lease, created_at)
    select (h.delivery_ids::text[])[r.nth], h.project_id, r.seq, r.seq, h.event_seq, 'sending', 0, 0,
      h.now + ${LEASE_MS}, 1, h.now
    from heard h cross join receiver r)
  select h.place, r.nth, r.url from heard h left join receiver r on true`
// The events of one statement have different ids.
const publishSql = `
  with given as materialized (
    select g.*, k.project_id, nextval('agent_messaging.events_seq_seq') as event_seq
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
        $8::text[])
      with ordinality as g (digest, id, name, session_id, fingerprint, body, now, delivery_ids, place)
    join agent_messaging.api_keys k on k.digest = g.digest and k.revoked_at is null
      and coalesce(k.expires_at, g.now + 1) > g.now and strpos(k.permissions, 'project:publish') > 0
    where not exists (select 1 from agent_messaging.events e
      where e.id = g.id and e.project_id = k.project_id)),
  receiver as materialized (
    select s.project_id, s.event, w.seq, w.url,
      row_number() over (partition by s.event order by w.seq) as nth
    from agent_messaging.subscriptions s join agent_messaging.webhooks w on w.seq = s.webhook_seq
    where s.project_id = (select project_id from given limit 1)
      and s.event = any($3::text[]) and not w.is_deleted and w.disabled_at is null and not w.paused),
  told as (
    insert into agent_messaging.events (seq, id, project_id, has_deliveries, session_id, name, body,
        fingerprint, created_at)
      overriding system value
    select event_seq, id, project_id, exists (select from receiver r where r.event = g.name),
      session_id, name, body, fingerprint, now
    from given g),
  born as (
    insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step,
      attempt_count, due_at, lease, created_at)
    select (g.delivery_ids::text[])[r.nth], g.project_id, r.seq, r.seq, g.event_seq, 'sending', 0, 0,
      g.now + ${LEASE_MS}, 1, g.now
    from given g join receiver r on r.event = g.name)
  select g.place, r.nth, r.url from given g left join receiver r on r.event = g.name`
const publishedSql = `
  select e.fingerprint from agent_messaging.api_keys k
    join agent_messaging.events e on e.project_id = k.project_id and e.id = $2
  where k.digest = $1 and k.revoked_at is null`
const claimSql = `
  with taken as materialized (
    select d.id, w.url from agent_messaging.webhooks w cross join lateral (
      select q.id from agent_messaging.deliveries q
      where q.receiver_seq = w.seq and (q.attempt_count > 0) = $3::boolean and q.due_at <= $1
      order by q.due_at limit $2 for update skip locked) d
    where not w.is_deleted and w.disabled_at is null and not w.paused),
  claimed as (
    update agent_messaging.deliveries d
      set state = 'sending', due_at = $1::bigint + ${LEASE_MS}, lease = d.lease + 1
    from taken where d.id = taken.id
    returning d.id, d.lease, d.event_seq, taken.url)
  select c.id, c.lease, c.url, e.name as event, e.body
  from claimed c join agent_messaging.events e on e.seq = c.event_seq`
const recordSql = `
  with moved as (
    update agent_messaging.deliveries d set state = 'delivered', due_at = null, resume_at = null,
      finished_at = g.finished_at, attempt_count = d.attempt_count + 1
    from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
        $7::text[], $8::text[])
      as g (id, lease, finished_at, started_at, duration, url, outcome, header_values)
    where d.id = g.id and d.lease = g.lease and d.state = 'sending'
    returning d.seq, d.attempt_count, g.*)
  insert into agent_messaging.attempts (delivery_seq, attempt_number, started_at, duration_ms, url,
    outcome, header_names_seq, header_values)
  select seq, attempt_count, started_at, duration, url, outcome, $9::bigint, header_values from moved`

const headerNamesSeq = await seqOfHeaderNames()

async function seqOfHeaderNames() {
  const digest = createHash('sha256').update(headerNames).digest('base64')
  const { rows } = await pool.query(
    `insert into agent_messaging.header_names (digest, names) values ($1, $2)
     on conflict (digest) do update set names = excluded.names returning seq`,
    [digest, headerNames],
  )
  return rows[0].seq
}

let stored = 0

/** Checks keys, agents and idempotency keys, and stores the new messages as running. */
async function acceptAll(messages) {
  const { rows } = await pool.query({
    name: 'accept',
    text: acceptSql,
    values: [
      ...['digest', 'agent', 'sessionId', 'id', 'key', 'fingerprint', 'message'].map((name) =>
        column(messages, name),
      ),
      messages.map(({ metadata }) => (metadata === undefined ? null : JSON.stringify(metadata))),
      column(messages, 'now'),
    ],
  })
  const before = stored
  stored += rows.length
  if (before < ANALYZE_AFTER && stored >= ANALYZE_AFTER) void pool.query('analyze')
  const runs = []
  for (const row of rows) runs[row.place - 1] = row
  return messages.map((_, n) => runs[n])
}

/** The most receivers that an event has had. */
let width = 1

/** Stores answers with their events and deliveries. Returns the claimed deliveries of each. */
async function settleAll(settled) {
  const events = settled.map(({ message, run, response, now }) => {
    const { agentId, principal } = run
    const eventId = ids.next()
    const body = respondedBody({
      eventId,
      message,
      agentId,
      principal: JSON.parse(principal),
      response,
      now,
    })
    return { eventId, body, deliveryIds: Array.from({ length: width }, () => ids.next()) }
  })
  const messages = column(settled, 'message')
  const runs = column(settled, 'run')
  const values = [
    column(messages, 'id'),
    column(runs, 'sessionSeq'),
    column(runs, 'lease'),
    column(settled, 'response'),
    column(runs, 'projectId'),
    column(messages, 'sessionId'),
    column(events, 'eventId'),
    column(events, 'body'),
    column(settled, 'now'),
    column(messages, 'now'),
    events.map(({ deliveryIds }) => `{${deliveryIds.join()}}`),
  ]
  try {
    const { rows } = await pool.query({ name: 'settle', text: settleSql, values })
    const born = settled.map(() => [])
    for (const { place, nth, url } of rows) {
      if (nth === null) continue
      const { body, deliveryIds } = events[place - 1]
      born[place - 1].push({ id: deliveryIds[nth - 1], lease: 1, event: EVENT, body, url })
    }
    return born
  } catch (error) {
    if (error.column !== 'id') throw error
    width *= 2
    return settleAll(settled)
  }
}

/** Stores events. Returns the claimed deliveries of each, and undefined for a refused one. */
async function publishAll(events) {
  const deliveryIds = events.map(() => Array.from({ length: width }, () => ids.next()))
  const values = [
    ...['digest', 'id', 'type', 'sessionId', 'fingerprint', 'body', 'now'].map((name) =>
      column(events, name),
    ),
    deliveryIds.map((of) => `{${of.join()}}`),
  ]
  try {
    const { rows } = await pool.query({ name: 'publish', text: publishSql, values })
    const born = []
    for (const { place, nth, url } of rows) {
      const { type: event, body } = events[place - 1]
      const of = (born[place - 1] ??= [])
      if (nth !== null) of.push({ id: deliveryIds[place - 1][nth - 1], lease: 1, event, body, url })
    }
    const before = stored
    stored += rows.length
    if (before < ANALYZE_AFTER && stored >= ANALYZE_AFTER) void pool.query('analyze')
    return born
  } catch (error) {
    if (error.column !== 'id') throw error
    width *= 2
    return publishAll(events)
  }
}

async function recordAll(attempts) {
  const values = [
    column(attempts, 'id'),
    column(attempts, 'lease'),
    attempts.map(({ startedAt, durationMs }) => startedAt + durationMs),
    column(attempts, 'startedAt'),
    column(attempts, 'durationMs'),
    column(attempts, 'url'),
    attempts.map(({ outcome }) => JSON.stringify(outcome)),
    column(attempts, 'headerValues'),
    headerNamesSeq,
  ]
  const { rowCount } = await pool.query({ name: 'record', text: recordSql, values })
  delivered += rowCount
}

const accept = grouped(acceptAll, { inFlight: 1, keyOf: ({ sessionId }) => sessionId })
const settle = grouped(settleAll, { inFlight: 1 })
const publishOne = grouped(publishAll, { inFlight: 1, keyOf: ({ id }) => id })
const record = grouped(recordAll, { inFlight: 1, lingerMs: LINGER_MS })

async function send(message) {
  const run = await accept(message)
  if (run === undefined) {
    const values = [message.digest, message.agent, message.key]
    const { rows } = await pool.query({ name: 'existing', text: existingSql, values })
    return rows[0]
  }
  const { agentId } = run
  if (!run.isHead) return { id: message.id, agentId, response: null }
  const response = await agent(message)
  for (const delivery of await settle({ message, run, response, now: Date.now() }))
    sender.send(delivery)
  return { id: message.id, agentId, response }
}

async function publish(event) {
  const born = await publishOne(event)
  for (const delivery of born ?? []) sender.send(delivery)
  if (born) return true
  const values = [event.digest, event.id]
  const { rows } = await pool.query({ name: 'published', text: publishedSql, values })
  return rows[0]?.fingerprint === event.fingerprint
}

let delivered = 0
let isClaiming = false
let isDrained = true
let sending = 1
const sender = new Sender({
  onAttempt: (delivery) => void record(delivery),
  onRoom: () => void claimMore(),
})

/** Claims due deliveries of each webhook in equal shares. */
async function claimMore() {
  if (isClaiming || isDrained || sender.waiting >= CLAIM / 2) return
  isClaiming = true
  const values = [Date.now(), Math.ceil(CLAIM / sending), false]
  const { rows } = await pool.query({ name: 'claim', text: claimSql, values })
  isClaiming = false
  isDrained = rows.length === 0
  for (const delivery of rows) sender.send(delivery)
  void claimMore()
}

async function drain({ uncounted }) {
  const { rowCount } = await pool.query(
    'update agent_messaging.webhooks set disabled_at = null, disabled_reason = null',
  )
  await pool.query('analyze')
  sending = rowCount
  isDrained = false
  void claimMore()
  return drained(() => delivered, { uncounted, deliveries })
}
const { pathname = '' } = url ? new URL(url) : {}
answer({ url: await serveRequests(pathname, { send, publish }), headers }, { drain })
