import {
  WAITING,
  type Accepted,
  type Storage,
  type Stored,
} from '@org/agent-messaging-core/storage'
import {
  accepted,
  anAgent,
  anApiKey,
  anEvent,
  aProject,
  aWebhook,
  BUILT_AT as NOW,
  fakeIds,
  newMessage,
  mapped,
  unwrap,
} from '@org/agent-messaging-testing'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'

// A connection caches the plans of the hot functions when it first runs them, and the tables grow
// afterwards. These tests check that no plan, whenever it was made, reads more than a few rows of
// large tables. auto_explain reports what each step read.

const MANY = 2_000
/** A batch has three messages, and a statement looks at a handful of rows for each. */
const FEW = 50
const UNTIL = NOW + 30_000
const ids = fakeIds()
const key = anApiKey()

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await testPostgres()
})
afterAll(() => postgres.close())

const NAMES = ['messages', 'sessions', 'events', 'deliveries', 'attempts', 'agents']
const TABLES = NAMES.map((name) => `agent_messaging.${name}`)
const UNTOUCHED = TABLES.map((table) => `alter table ${table} set (autovacuum_enabled = off)`).join(
  ';',
)
const EXPLAINED = `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_buffers = on;
  set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set auto_explain.log_format = json; set auto_explain.log_level = notice`
/** Stores messages, open or final, for the agent and the webhooks. Ordered deliveries wait. */
const fill = (name: string, isOpen: boolean): string => `
  insert into agent_messaging.agents (id, project_id, name, default_principal, runtime_kind, runtime_options, desired_state, state,
      concurrency, max_attempts, max_queued, created_at, updated_at)
    select 'agent ${name} ' || n, a.project_id, '${name} ' || n, '', '', '', '', '', 1, 1, 1, 0, 0
    from generate_series(1, ${MANY}) n, agent_messaging.agents a where a.runtime_kind = 'fake';
  with made as (
    insert into agent_messaging.sessions (agent_id, session_id, last_position, head_position, open_count, due_at, lease, last_message_id, last_message_at)
      select a.id, '${name} ' || n, 1, ${isOpen ? '1, 1, n' : '2, 0, null'}, 0, '', 0
      from generate_series(1, ${MANY}) n, agent_messaging.agents a where a.runtime_kind = 'fake' returning *)
  insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key, message, principal, attempt, state, response, finished_at,
      not_before, created_at, open_until)
    select session_id, agent_id, seq, 1, session_id, 'hi', '{}', 0, ${isOpen ? "'queued', null, null, 0" : "'responded', 'hi', 1, null"}, 0, 0 from made;
  with told as (
    insert into agent_messaging.events (id, project_id, has_deliveries, name, body, created_at)
      select '${name} ' || n, '', true, 'message.responded', '', 0 from generate_series(1, ${MANY}) n returning seq)
  insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, order_key, state, step, attempt_count, due_at, lease, finished_at, created_at)
    select '${name} ' || told.seq || w.seq, w.project_id, w.seq, w.seq, told.seq, case w.ordering when 'session' then '${name}' end,
      ${isOpen ? `'pending', 0, 0, case w.ordering when 'session' then ${WAITING} else told.seq end, 0, null` : "'delivered', 0, 1, null, 1, 1"}, 0
    from told, agent_messaging.webhooks w`
/** One final message for each of many agents. The statistics then expect one for any agent. */
const SPREAD = `
  insert into agent_messaging.agents (id, project_id, name, default_principal, runtime_kind, runtime_options, desired_state, state,
      concurrency, max_attempts, max_queued, created_at, updated_at)
    select 'spread ' || n, 'p', n, '', '', '', '', '', 1, 1, 1, 0, 0 from generate_series(1, ${MANY}) n;
  with made as (
    insert into agent_messaging.sessions (agent_id, session_id, last_position, head_position, open_count, lease, last_message_id, last_message_at)
      select 'spread ' || n, 'spread ' || n, 1, 2, 0, 0, '', 0 from generate_series(1, ${MANY}) n returning *)
  insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key, message, principal, attempt, state, response, finished_at, created_at, open_until)
    select session_id, agent_id, seq, 1, repeat(md5(session_id), 8), 'hi', '{}', 0, 'responded', 'hi', 1, 0, 0 from made`
const FINISH = `
  update agent_messaging.sessions set head_position = 2, open_count = 0, due_at = null where last_message_id = '';
  update agent_messaging.messages set state = 'responded', response = 'hi', finished_at = 1 where principal = '{}';
  update agent_messaging.deliveries set state = 'delivered', due_at = null, finished_at = 1 where created_at = 0`

const looked = (how: string): string[] => TABLES.map((table) => `${how} ${table}`)
const GROWN = [fill('old', false), fill('new', true)]

/**
 * Statements for empty tables, for tables with a few rows, and for the time after the plans were
 * made.
 */
type Past = {
  readonly empty?: readonly string[]
  readonly few?: readonly string[]
  readonly since: readonly string[]
}

it.each<[string, Past]>([
  ['were never analyzed', { since: GROWN }],
  ['were empty at ANALYZE', { empty: looked('vacuum analyze'), since: GROWN }],
  ['had a few rows at ANALYZE', { few: looked('vacuum analyze'), since: GROWN }],
  [
    'had only open rows at ANALYZE',
    { few: [fill('old', true), ...looked('analyze')], since: [FINISH] },
  ],
  [
    'had one message for each agent at ANALYZE',
    { few: [SPREAD, ...looked('vacuum analyze')], since: GROWN },
  ],
])(
  'a hot statement reads only the rows that it needs of tables that %s',
  async (_, { empty = [], few = [], since }) => {
    const { run, storage, round, plans, firstColumns } = await scene()
    await run([UNTOUCHED, ...empty])
    await round()
    await run(few)
    await round()
    await run(since)
    plans.length = 0
    await round()
    const steps = plans.flatMap((plan) =>
      stepsOf(plan.Plan).map((step) => ({ ...step, of: plan['Query Text'] })),
    )
    expect(new Set(steps.map((step) => step['Relation Name']))).toEqual(
      new Set([
        ...NAMES,
        'api_keys',
        'webhooks',
        'subscriptions',
        'erasures',
        'past_runs',
        undefined,
      ]),
    )
    expect(steps.filter((step) => rowsOf(step) > FEW).map(described)).toEqual([])
    // A scan without a condition on the first column reads the whole index.
    expect(steps.filter((step) => !isEntered(step, firstColumns)).map(described)).toEqual([])
    await storage.close()
  },
)

it.each<[string, Past]>([
  ['were never analyzed', { since: GROWN }],
  ['were empty at ANALYZE', { empty: looked('vacuum analyze'), since: GROWN }],
  ['were analyzed', { since: [...GROWN, ...looked('vacuum analyze')] }],
])(
  'a list in the scope of a caller reads no other session or message of tables that %s',
  async (_, { empty = [], since }) => {
    const { run, storage, listOwn, plans, firstColumns } = await scene()
    await run([UNTOUCHED, ...empty])
    await listOwn()
    await run(since)
    plans.length = 0
    await listOwn()
    const steps = plans
      .flatMap((plan) => stepsOf(plan.Plan).map((step) => ({ ...step, of: plan['Query Text'] })))
      .filter((step) => ['sessions', 'messages'].includes(step['Relation Name'] ?? ''))
    expect(steps.length).toBeGreaterThan(20)
    expect(steps.filter((step) => rowsOf(step) > FEW).map(described)).toEqual([])
    expect(steps.filter((step) => !isEntered(step, firstColumns)).map(described)).toEqual([])
    await storage.close()
  },
)

/** 50,000 messages cost a level of some indexes more than 1,000, and now and then a page split. */
const MOST_GROWTH = 1.5
/**
 * Stores final messages with random keys in random sessions, each with a delivery and its attempt.
 */
const store = (count: number): string => `
  with made as (
    insert into agent_messaging.sessions (agent_id, session_id, last_position, head_position, open_count, lease, last_message_id, last_message_at)
      select a.id, gen_random_uuid(), 1, 2, 0, 1, gen_random_uuid(), 0
      from generate_series(1, ${count}) n, agent_messaging.agents a returning *)
  insert into agent_messaging.messages (id, agent_id, session_seq, position, idempotency_key, message, principal, attempt, state, response, finished_at, created_at, open_until)
    select last_message_id, agent_id, seq, 1, gen_random_uuid(), 'hi', '{}', 1, 'responded', 'hi', 1, 0, 0 from made;
  with told as (
    insert into agent_messaging.events (id, project_id, has_deliveries, name, body, created_at)
      select gen_random_uuid(), '', true, 'message.responded', '', 0 from generate_series(1, ${count}) returning seq)
  insert into agent_messaging.deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, step, attempt_count, lease, finished_at, created_at)
    select gen_random_uuid(), w.project_id, w.seq, w.seq, told.seq, 'delivered', 0, 1, 1, 1, 0 from told, agent_messaging.webhooks w where w.ordering = 'none';
  insert into agent_messaging.attempts (delivery_seq, attempt_number, started_at, duration_ms, outcome)
    select seq, 1, 0, 1, '{}' from agent_messaging.deliveries where state = 'delivered' on conflict do nothing`

it('a hot statement reads no more pages of 50,000 messages than of 1,000, before and after ANALYZE', async () => {
  const { run, storage, round, plans } = await scene({ nested: false })
  const pages = async (): Promise<Map<string, number>> => {
    await round()
    const first = await measured()
    const second = await measured()
    // After a new plan, a call also reads the catalog. The next call does not.
    return new Map([...second].map(([of, read]) => [of, Math.min(read, first.get(of) ?? read)]))
  }
  const measured = async (): Promise<Map<string, number>> => {
    plans.length = 0
    await round()
    return pagesOf(plans)
  }
  await run([UNTOUCHED, store(1_000)])
  const few = await pages()
  expect(few.size).toBeGreaterThan(5)
  const grown = (many: Map<string, number>) =>
    [...many].filter(([of, read]) => read > MOST_GROWTH * (few.get(of) ?? 0))
  await run([store(49_000)])
  expect(grown(await pages())).toEqual([])
  await run(looked('analyze'))
  expect(grown(await pages())).toEqual([])
  await storage.close()
})

it('an answer writes into no index of messages', async () => {
  const { pool, storage, round } = await scene({ nested: false })
  await round()
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query(`
    select n_tup_upd::int as updated, n_tup_hot_upd::int as within
    from pg_stat_user_tables where relname = 'messages'`)
  // Four answers, and the claim of a queued message.
  expect(rows).toEqual([{ updated: 5, within: 4 }])
  await storage.close()
})

/** The pages that each statement read, with the statements inside of functions. */
function pagesOf(plans: readonly Explained[]): Map<string, number> {
  const pages = new Map<string, number>()
  for (const { Plan: plan, 'Query Text': text } of plans) {
    const of = text.trim().slice(0, 60)
    const read = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    pages.set(of, (pages.get(of) ?? 0) + read)
  }
  return pages
}

/** Opens a storage on one connection, which reports the plans of its statements. */
async function scene({ nested = true } = {}) {
  const plans: Explained[] = []
  const pool = await postgres.pool({ max: 1 })
  onTestFinished(() => pool.end())
  const storage = await openPostgresStorage({ pool })
  const agent = anAgent()
  await storage.credentials.createProject(aProject())
  await storage.agents.create(agent, 1_000)
  await storage.credentials.createKey(key, 'ab'.repeat(32), 10)
  await storage.webhooks.create(aWebhook(), 10)
  await storage.webhooks.create(aWebhook({ ordering: 'session' }), 10)
  const client = await pool.connect()
  client.on('notice', ({ message = '' }) =>
    plans.push(JSON.parse(message.slice(message.indexOf('{'))) as Explained),
  )
  await client.query(EXPLAINED)
  await client.query(`set auto_explain.log_nested_statements = ${nested}`)
  client.release()
  async function run(statements: readonly string[]): Promise<void> {
    for (const statement of statements) await pool.query(statement)
  }
  const { rows } = await pool.query<{ index: string; column: string }>(`
    select c.relname as index, a.attname as column
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum = 1
    where c.relkind = 'i' and c.relnamespace = 'agent_messaging'::regnamespace`)
  const firstColumns = new Map(rows.map(({ index, column }) => [index, column]))
  return {
    pool,
    run,
    storage,
    plans,
    firstColumns,
    round: () => roundOf(storage, agent),
    listOwn: () => listOwn(storage, agent),
  }
}

/**
 * The daily work of a server: sends three messages twice and one message once, answers them,
 * and sends due deliveries.
 */
async function roundOf(
  { messages, deliveries }: Storage,
  agent: ReturnType<typeof anAgent>,
): Promise<void> {
  const drafts = [1, 2, 3].map((n) => {
    const id = ids.next()
    return newMessage(agent, {
      sessionId: `${id} ${n}`,
      idempotencyKey: id,
      claimUntil: UNTIL,
      readEarlier: { apiKeyId: key.id, agentUpdatedAt: agent.updatedAt },
    })
  })
  const answer = (messageId: string, token: number) =>
    messages.recordRun({
      messageId,
      token,
      now: NOW,
      state: { kind: 'responded', response: 'hi', respondedAt: NOW, responseTimeMs: 1 },
      outgoing: { events: [anEvent(agent, { sessionId: messageId })], nextDeliveryId: ids.next },
    })
  const taken = await all(drafts.map((draft) => messages.accept(draft)))
  await all(drafts.map((draft) => messages.accept({ ...draft, id: ids.next() })))
  await all(taken.map((one) => answer(...heldBy(one))))
  await all([
    messages.accept(newMessage(agent, { sessionId: ids.next(), idempotencyKey: ids.next() })),
  ])
  const [runs = []] = await all([
    messages.claimRunnable({ lanes: [{ agentId: agent.id, free: 1 }], now: NOW, until: UNTIL }),
  ])
  await all(runs.map(({ message, lease }) => answer(message.id, lease.token)))
  const claims = {
    limit: 6,
    perWebhook: 3,
    perProject: 6,
    retries: 3,
    rooms: new Map(),
    except: new Set<string>(),
    now: NOW,
    until: UNTIL,
  }
  const [claimed = []] = await all([
    mapped(deliveries.claimDue(claims), (claims) => [...claims.deliveries]),
  ])
  expect([runs.length, claimed.length]).toEqual([1, 6])
  const attempt = { startedAt: NOW, durationMs: 1, outcome: accepted() }
  const state = { kind: 'delivered', deliveredAt: NOW } as const
  await all(
    claimed.map(({ delivery, lease }) =>
      deliveries.recordAttempts([{ deliveryId: delivery.id, token: lease.token, attempt, state }]),
    ),
  )
}

/** Lists and searches in the scope of a caller with two sessions, after a send to each. */
async function listOwn({ messages }: Storage, agent: ReturnType<typeof anAgent>): Promise<void> {
  const { projectId, id: agentId } = agent
  const executionPrincipal = { type: 'end_user', endUserId: 'u1' } as const
  const sessionIds = ['user-1/a', 'user-1/b']
  await all(
    sessionIds.map((sessionId) =>
      messages.accept(newMessage(agent, { id: ids.next(), sessionId, executionPrincipal })),
    ),
  )
  const page = { limit: 10 }
  for (const scope of [{ prefix: 'user-1/' }, { ids: sessionIds }]) {
    const ref = { projectId, agentId, scope }
    const [sessions] = await all([messages.listSessions(ref, page)])
    expect(sessions?.data).toHaveLength(2)
    const [count = 0] = await all([messages.count(ref, 99)])
    const lists = await all([
      messages.list(ref, page),
      messages.list({ ...ref, status: 'pending', order: 'asc' }, page),
      messages.search({ projectId, scope }, page),
      messages.search({ projectId, scope, text: 'h' }, page),
      messages.search({ projectId, scope, agentIds: [agentId], state: 'queued' }, page),
      messages.search({ projectId, scope, endUserId: 'u1' }, page),
    ])
    expect(lists.map(({ data }) => data.length)).toEqual(lists.map(() => count))
  }
}

function heldBy(accepted: Accepted): [string, number] {
  if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
  return [accepted.claimed.message.id, accepted.claimed.lease.token]
}

const all = async <T>(results: readonly Stored<T>[]): Promise<T[]> =>
  (await Promise.all(results)).map((result) => unwrap(result))

type Explained = { readonly 'Query Text': string; readonly Plan: Step }
type Step = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly Step[]
}

const stepsOf = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)]

/** The rows that a step looked at, with the rows that it filtered out. */
function rowsOf(step: Step): number {
  const removed = (step['Rows Removed by Filter'] ?? 0) + (step['Rows Removed by Join Filter'] ?? 0)
  return (step['Actual Rows'] + removed) * step['Actual Loops']
}

/**
 * Agents are few, so a plan can read them in the order of an index to join them. Of erasures, one
 * row is enough.
 */
const isEntered = (step: Step, firstColumns: ReadonlyMap<string, string>): boolean =>
  step['Index Name'] === undefined ||
  ['agents', 'erasures'].includes(step['Relation Name'] ?? '') ||
  step['Index Cond']?.includes(firstColumns.get(step['Index Name']) ?? '?') === true

const described = (step: Step & { readonly of: string }): string =>
  `${rowsOf(step)} rows by ${step['Node Type']} of ${step['Relation Name']} (${step['Index Name']}) in ${step.of.trim().slice(0, 80)}`
