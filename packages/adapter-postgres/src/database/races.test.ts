import { setTimeout } from 'node:timers/promises'
import type { Agent, Message } from '@org/agent-messaging-core'
import {
  freezeEvent,
  publishedEvent,
  type ClaimedDelivery,
  type MessageRef,
  type NewMessage,
  type Storage,
  type Stored,
  type WebhookEvent,
} from '@org/agent-messaging-core/storage'
import {
  accepted,
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  BUILT_AT as NOW,
  fakeIds,
  newMessage,
  PROJECT_ID,
  refused,
  unwrap,
  mapped,
} from '@org/agent-messaging-testing'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { testPostgres, type TestPostgres } from '../../test/test-postgres.js'
import { openPostgresStorage } from '../index.js'

// Races that cannot happen in a store with one writer. Each test repeats its race many times, with
// a connection for each side.

const ROUNDS = Array.from({ length: 30 }, (_, round) => round)
const CLAIM_ALL = {
  limit: 100,
  perWebhook: 100,
  perProject: 100,
  retries: 100,
  rooms: new Map(),
  except: new Set<string>(),
  now: NOW,
  until: NOW + 1_000,
}
/** Connections that wait for a lock. */
const WAITING =
  "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
const ids = fakeIds()

let postgres: TestPostgres
let pool: pg.Pool
let storage: Storage
beforeAll(async () => {
  postgres = await testPostgres()
  pool = await postgres.pool({ max: 20 })
  storage = await openPostgresStorage({ pool })
  await done(storage.credentials.createProject(aProject()))
  // A side that must connect first comes too late for a race.
  await Promise.all(Array.from({ length: 20 }, () => pool.query('select pg_sleep(0.1)')))
})
afterAll(async () => {
  await storage.close()
  await pool.end()
  await postgres.close()
})

const done = async <T>(stored: Stored<T>): Promise<T> => unwrap(await stored)
const rows = async (table: string): Promise<number> =>
  Number(
    (await pool.query<{ count: string }>(`select count(*) from agent_messaging.${table}`)).rows[0]
      ?.count,
  )

async function newAgent(): Promise<Agent> {
  const agent = anAgent()
  await done(storage.agents.create(agent, 1_000))
  return agent
}

/** A final message. */
async function finished(
  agent: Agent,
  sessionId: string,
  idempotencyKey?: string,
  more: Partial<NewMessage> = {},
): Promise<Message> {
  const sent = newMessage(agent, {
    sessionId,
    claimUntil: NOW,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...more,
  })
  const accepted = await done(storage.messages.accept(sent))
  if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
  const { message, lease } = accepted.claimed
  const state = {
    kind: 'failed',
    error: { code: 'RUNTIME_ERROR', message: 'it broke' },
    failedAt: NOW,
  } as const
  await done(
    storage.messages.recordRun({ messageId: message.id, token: lease.token, state, now: NOW }),
  )
  return message
}

const of = (endUserId: string) => ({ executionPrincipal: { type: 'end_user', endUserId } }) as const
const refOf = ({ id: messageId, agentId, projectId }: Message): MessageRef => ({
  messageId,
  agentId,
  projectId,
})

async function publish(agent: Agent, webhooks: number): Promise<void> {
  for (let n = 0; n < webhooks; n++)
    await done(
      storage.webhooks.create(aWebhook({ id: ids.next(), filter: { agentId: agent.id } }), 1_000),
    )
  const outgoing = { events: [anEvent(agent, { createdAt: NOW })], nextDeliveryId: ids.next }
  await done(
    storage.agents.changeState({
      agentId: agent.id,
      from: 'running',
      to: { kind: 'running', startedAt: NOW },
      outgoing,
    }),
  )
}

it('a send whose session is locked waits, and the other sends of its batch do not', async () => {
  const agent = await newAgent()
  const send = (sessionId: string) =>
    done(storage.messages.accept(newMessage(agent, { sessionId })))
  await send('locked')
  const host = await pool.connect()
  await host.query('begin')
  await host.query('select 1 from agent_messaging.sessions where agent_id = $1 for update', [
    agent.id,
  ])
  let isFree = false
  const waiting = send('locked').then(() => isFree)
  await Promise.all(Array.from({ length: 63 }, (_, n) => send(`${n}`)))
  isFree = true
  await host.query('commit')
  host.release()
  expect(await waiting).toBe(true)
})

it('one of several sends gets the key of an erased message', async () => {
  const agent = await newAgent()
  await finished(agent, 'old', 'key')
  await done(storage.messages.erase({ projectId: PROJECT_ID, agentId: agent.id, sessionId: 'old' }))
  const sends = Array.from({ length: 10 }, (_, n) =>
    newMessage(agent, { idempotencyKey: 'key', sessionId: `${n % 2}` }),
  )
  const accepted = await Promise.all(sends.map((message) => done(storage.messages.accept(message))))
  expect(accepted.filter(({ kind }) => kind === 'created')).toHaveLength(1)
  expect(new Set(accepted.map((one) => ('message' in one ? one.message.id : one.kind))).size).toBe(
    1,
  )
})

it('a run is answered or cancelled, never both', async () => {
  const agent = await newAgent()
  for (const round of ROUNDS) {
    const accepted = await done(
      storage.messages.accept(newMessage(agent, { sessionId: `${round}`, claimUntil: NOW })),
    )
    if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
    const { message, lease } = accepted.claimed
    const state = {
      kind: 'responded',
      response: 'done',
      respondedAt: NOW,
      responseTimeMs: 0,
    } as const
    const [recorded, cancelled] = await Promise.all([
      done(
        storage.messages.recordRun({ messageId: message.id, token: lease.token, state, now: NOW }),
      ),
      done(storage.messages.cancel({ ...refOf(message), ...cancelledNow(agent) })),
    ])
    const isAnswered =
      (await done(storage.messages.get(refOf(message))))?.state.kind === 'responded'
    expect([recorded.kind, cancelled?.kind]).toEqual(
      isAnswered ? ['recorded', 'already_final'] : ['lease_lost', 'cancelled'],
    )
  }
})

it('a run is deferred or cancelled, never both', async () => {
  const agent = await newAgent()
  for (const round of ROUNDS) {
    const accepted = await done(
      storage.messages.accept(newMessage(agent, { sessionId: `${round}`, claimUntil: NOW })),
    )
    if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
    const { message, lease } = accepted.claimed
    const state = { kind: 'deferred', startedAt: NOW, deadlineAt: NOW + 1_000 } as const
    const [deferred] = await Promise.all([
      done(storage.messages.defer({ messageId: message.id, token: lease.token, state })),
      done(storage.messages.cancel({ ...refOf(message), ...cancelledNow(agent) })),
    ])
    expect(['deferred', 'lease_lost']).toContain(deferred)
    expect((await done(storage.messages.get(refOf(message))))?.state.kind).toBe('cancelled')
  }
})

it('a failed message is retried or purged, never both', async () => {
  const agent = await newAgent()
  for (const round of ROUNDS) {
    const message = await finished(agent, `${round}`)
    const [retried] = await Promise.all([
      done(storage.messages.retry({ ...refOf(message), now: NOW })),
      done(storage.messages.purge({ finishedBefore: NOW + 1, limit: 10, now: NOW })),
    ])
    const left = await done(storage.messages.get(refOf(message)))
    expect(left?.state.kind).toBe(retried?.kind === 'retried' ? 'queued' : undefined)
    const claimed = await done(
      storage.messages.claimRunnable({
        lanes: [{ agentId: agent.id, free: 9 }],
        now: NOW,
        until: NOW + 1,
      }),
    )
    expect(claimed.map((claim) => claim.message.id)).toEqual(left ? [message.id] : [])
    if (left) await done(storage.messages.cancel({ ...refOf(message), ...cancelledNow(agent) }))
  }
})

const cancelledNow = (agent: Agent) => ({
  state: { kind: 'cancelled', cancelledAt: NOW } as const,
  outgoing: { events: [anEvent(agent)], nextDeliveryId: ids.next },
})

it('a forced erasure of an end user during other work leaves the other messages in order', async () => {
  const agent = await newAgent()
  const step = {
    projectId: PROJECT_ID,
    agentId: agent.id,
    endUserId: 'u',
    force: true,
    countOnly: false,
    now: NOW,
    limit: 1_000,
    after: 0,
  }
  for (const round of ROUNDS) {
    const sessionId = `${round}`
    const first = await done(
      storage.messages.accept(
        newMessage(agent, { sessionId, claimUntil: NOW + 1_000, ...of('u') }),
      ),
    )
    if (first.kind !== 'claimed') throw new Error(first.kind)
    const { message, lease } = first.claimed
    for (const who of ['v', 'u', 'v'])
      await done(storage.messages.accept(newMessage(agent, { sessionId, ...of(who) })))
    const answered = {
      kind: 'responded',
      response: 'r',
      respondedAt: NOW,
      responseTimeMs: 1,
    } as const
    const [recorded] = await Promise.all([
      done(
        storage.messages.recordRun({
          messageId: message.id,
          token: lease.token,
          state: answered,
          now: NOW,
        }),
      ),
      done(storage.messages.accept(newMessage(agent, { sessionId, ...of('v') }))),
      done(storage.messages.erasePrincipal(step)),
      done(storage.messages.purge({ finishedBefore: NOW + 1, limit: 100, now: NOW })),
      done(storage.messages.erasePrincipal({ ...step, limit: 2 })),
    ])
    expect(['recorded', 'lease_lost']).toContain(recorded.kind)
    await done(storage.messages.erasePrincipal(step))
    const places: string[] = []
    for (;;) {
      const [claimed] = await done(
        storage.messages.claimRunnable({
          lanes: [{ agentId: agent.id, free: 1 }],
          now: NOW,
          until: NOW + 1_000,
        }),
      )
      if (!claimed) break
      expect(claimed.message.executionPrincipal).toEqual({ type: 'end_user', endUserId: 'v' })
      places.push(claimed.message.id)
      const run = {
        messageId: claimed.message.id,
        token: claimed.lease.token,
        state: answered,
        now: NOW,
      }
      expect(await done(storage.messages.recordRun(run))).toMatchObject({ kind: 'recorded' })
    }
    expect(places).toEqual(places.toSorted())
    expect(places).toHaveLength(3)
  }
  const astray = await pool.query(
    `
    select 1 from agent_messaging.sessions s where s.agent_id = $1 and (s.due_at is not null or s.open_count <> 0
      or not exists (select 1 from agent_messaging.messages m where m.session_seq = s.seq))`,
    [agent.id],
  )
  expect(astray.rows).toEqual([])
})

it('an erasure waits for a locked session without blocking the other sessions of the end user', async () => {
  const agent = await newAgent()
  await finished(agent, 'a', undefined, of('u'))
  await finished(agent, 'b', undefined, of('u'))
  const host = await pool.connect()
  await host.query('begin')
  await host.query(
    "select 1 from agent_messaging.sessions where agent_id = $1 and session_id = 'b' for update",
    [agent.id],
  )
  const step = {
    projectId: PROJECT_ID,
    agentId: agent.id,
    endUserId: 'u',
    force: true,
    countOnly: false,
    now: NOW,
    limit: 100,
    after: 0,
  }
  const erased = done(storage.messages.erasePrincipal(step))
  await vi.waitUntil(async () => (await pool.query(WAITING)).rowCount === 1, { timeout: 60_000 })
  // With the usual lock timeout the erasure would block this send for ten seconds.
  const accepted = done(storage.messages.accept(newMessage(agent, { sessionId: 'a', ...of('v') })))
  const late = setTimeout(9_000, 'late')
  expect(await Promise.race([accepted, late])).toMatchObject({ kind: 'created' })
  await host.query('commit')
  host.release()
  expect(await erased).toEqual({ messages: 2, openMessages: 0 })
})

it('an erasure of deliveries during attempts and purges leaves nothing behind and fails nothing', async () => {
  const agent = await newAgent()
  const data = {
    agentId: agent.id,
    error: { code: 'RUNTIME_ERROR', message: 'it broke' },
    executionPrincipal: { type: 'end_user', endUserId: 'u' },
  } as const
  for (let n = 0; n < 4; n++)
    await done(
      storage.webhooks.create(aWebhook({ id: ids.next(), filter: { agentId: agent.id } }), 1_000),
    )
  const before = await rows('events')
  for (const _ of ROUNDS) {
    const { body } = freezeEvent({ event: 'agent.error', data }, ids.next(), PROJECT_ID, NOW)
    const outgoing = {
      events: [anEvent(agent, { createdAt: NOW, body })],
      nextDeliveryId: ids.next,
    }
    await done(
      storage.agents.changeState({
        agentId: agent.id,
        from: 'running',
        to: { kind: 'running', startedAt: NOW },
        outgoing,
      }),
    )
    const claims = await done(
      mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
    )
    const attempt = { startedAt: NOW, durationMs: 1, outcome: refused() }
    const step = {
      projectId: PROJECT_ID,
      endUserId: 'u',
      countOnly: false,
      limit: 1_000,
      after: 0,
      now: NOW,
    }
    await Promise.all([
      ...claims.map(({ delivery, lease }) =>
        done(
          storage.deliveries.recordAttempts([
            {
              deliveryId: delivery.id,
              token: lease.token,
              attempt,
              state: { kind: 'exhausted', exhaustedAt: NOW },
            },
          ]),
        ),
      ),
      done(storage.deliveries.erasePrincipal(step)),
      done(storage.deliveries.purge({ finishedBefore: NOW + 1, limit: 2 })),
      done(storage.deliveries.erasePrincipal(step)),
    ])
  }
  expect(await rows('events')).toBe(before)
})

it('an agent is deleted or accepts a message, never both', async () => {
  for (const _ of ROUNDS) {
    const agent = await newAgent()
    const [accepted, deleted] = await Promise.all([
      done(storage.messages.accept(newMessage(agent))),
      done(storage.agents.delete(PROJECT_ID, agent.id)),
    ])
    expect([accepted.kind, deleted]).toEqual(
      accepted.kind === 'created' ? ['created', 'busy'] : ['agent_not_found', 'deleted'],
    )
  }
})

it('an event published while its agent is deleted is refused, or the sweep erases it', async () => {
  const before = await rows('events')
  for (const _ of ROUNDS) {
    const agent = await newAgent()
    const events = Array.from({ length: 3 }, () =>
      publishedEvent(
        { type: 'order.paid', data: {}, agentId: agent.id },
        { id: ids.next(), projectId: PROJECT_ID, now: NOW },
      ),
    )
    const publish = (event: WebhookEvent) => {
      const outgoing = { events: [event], nextDeliveryId: ids.next }
      return done(storage.events.publish({ projectId: PROJECT_ID, outgoing }))
    }
    const [deleted, ...outcomes] = await Promise.all([
      done(storage.agents.delete(PROJECT_ID, agent.id)),
      ...events.map(publish),
    ])
    expect(deleted).toBe('deleted')
    for (const { kind } of outcomes) expect(['published', 'agent_not_found']).toContain(kind)
    while ((await done(storage.messages.sweep({ limit: 10, now: NOW }))) > 0);
    expect(await rows('events')).toBe(before)
  }
})

it('an agent is deleted or has a message retried, never both', async () => {
  for (const _ of ROUNDS) {
    const agent = await newAgent()
    const message = await finished(agent, 'session')
    const [retried, deleted] = await Promise.all([
      done(storage.messages.retry({ ...refOf(message), now: NOW })),
      done(storage.agents.delete(PROJECT_ID, agent.id)),
    ])
    expect([retried?.kind, deleted]).toEqual(retried ? ['retried', 'busy'] : [undefined, 'deleted'])
  }
})

it('concurrent purges of the deliveries of one event delete the event', async () => {
  const agent = await newAgent()
  const before = await rows('events')
  await publish(agent, 10)
  for (const { delivery } of await done(
    mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
  )) {
    await done(storage.deliveries.cancel(PROJECT_ID, delivery.id, NOW))
  }
  expect([await rows('events'), await rows('deliveries')]).toEqual([before + 1, 10])
  await Promise.all(
    Array.from({ length: 10 }, () =>
      done(storage.deliveries.purge({ finishedBefore: NOW + 1, limit: 1 })),
    ),
  )
  expect([await rows('events'), await rows('deliveries')]).toEqual([before, 0])
})

/** Two deliveries after one refused attempt, with the claims of that attempt. */
async function refusedOnce(): Promise<ClaimedDelivery[]> {
  await publish(await newAgent(), 2)
  const claims = await done(
    mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
  )
  expect(claims).toHaveLength(2)
  await Promise.all(claims.map(refuse))
  return claims
}

const refuse = ({ delivery, lease }: ClaimedDelivery) =>
  done(
    storage.deliveries.recordAttempts([
      {
        deliveryId: delivery.id,
        token: lease.token,
        attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
        state: { kind: 'pending', nextAttemptAt: NOW + 60_000, step: 1 },
      },
    ]),
  )

async function endAll(): Promise<void> {
  const { data } = await done(storage.deliveries.list({ projectId: PROJECT_ID }, { limit: 100 }))
  for (const { id } of data) await done(storage.deliveries.cancel(PROJECT_ID, id, NOW))
  await done(storage.deliveries.purge({ finishedBefore: NOW + 1, limit: 100 }))
}

it('a delivery that several operators redeliver at once is claimed once', async () => {
  const redeliver = () =>
    done(storage.deliveries.redeliver({ projectId: PROJECT_ID }, { limit: 100 }, NOW))
  for (const _ of ROUNDS) {
    await refusedOnce()
    const claims: string[] = []
    const claim = async () =>
      claims.push(
        ...(
          await done(
            mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
          )
        ).map(({ delivery }) => delivery.id),
      )
    await Promise.all([
      redeliver(),
      claim(),
      redeliver(),
      claim(),
      redeliver(),
      claim(),
      redeliver(),
    ])
    await claim()
    expect(new Set(claims).size).toBe(claims.length)
    expect(claims).toHaveLength(2)
    await endAll()
  }
})

it('a cancelled delivery stays cancelled after a concurrent attempt', async () => {
  for (const _ of ROUNDS) {
    await publish(await newAgent(), 2)
    const claims = await done(
      mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
    )
    const cancel = ({ delivery }: ClaimedDelivery) =>
      done(storage.deliveries.cancel(PROJECT_ID, delivery.id, NOW))
    await Promise.all(claims.flatMap((claimed) => [refuse(claimed), cancel(claimed)]))
    const { data } = await done(storage.deliveries.list({ projectId: PROJECT_ID }, { limit: 100 }))
    expect(data.map(({ state }) => state.kind)).toEqual(['cancelled', 'cancelled'])
    await endAll()
  }
})

it('concurrent attempts of a delivery get different numbers, and only a valid claim records a refusal', async () => {
  await publish(await newAgent(), 2)
  const claims = await done(
    mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
  )
  const client = await pool.connect()
  await client.query(
    "begin; update agent_messaging.deliveries set attempt_count = 4, lease = lease + 1 where state = 'sending'",
  )
  const [first, second] = claims as [ClaimedDelivery, ClaimedDelivery]
  const record = storage.deliveries.recordAttempts([
    {
      deliveryId: first.delivery.id,
      token: first.lease.token,
      attempt: { startedAt: NOW, durationMs: 1, outcome: accepted() },
      state: { kind: 'delivered', deliveredAt: NOW },
    },
  ])
  const refusal = refuse(second)
  const waiting =
    "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like '%record_attempts%'"
  while ((await pool.query<{ n: number }>(waiting)).rows[0]?.n === 0) await setTimeout(10)
  await client.query('commit')
  client.release()
  expect(await done(record)).toEqual([{ kind: 'recorded' }])
  expect(await refusal).toEqual([{ kind: 'lease_lost' }])
  const { rows } = await pool.query(
    'select state, attempt_count from agent_messaging.deliveries order by state',
  )
  expect(rows).toEqual([
    { state: 'delivered', attempt_count: 5 },
    { state: 'sending', attempt_count: 4 },
  ])
  expect(
    (await done(storage.deliveries.get(PROJECT_ID, first.delivery.id)))?.attempts[0]?.attemptNumber,
  ).toBe(5)
})

it('attempts that wait for their webhooks leave connections for sends', async () => {
  const agent = await newAgent()
  await publish(agent, 30)
  const claims = await done(
    mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
  )
  expect(claims).toHaveLength(30)
  const client = await pool.connect()
  await client.query('begin; select 1 from agent_messaging.webhooks for update')
  const recorded = claims.map(({ delivery, lease }) =>
    storage.deliveries.recordAttempts([
      {
        deliveryId: delivery.id,
        token: lease.token,
        attempt: { startedAt: NOW, durationMs: 1, outcome: refused() },
        state: { kind: 'pending', nextAttemptAt: NOW, step: 1 },
        decideHealth: ({ health }) => ({
          change: { health: { ...health, lastFailureAt: NOW }, updatedAt: NOW },
        }),
      },
    ]),
  )
  // Through the pool: a transaction sees only the connections of its first look.
  while (Number((await pool.query(WAITING)).rowCount) < 4) await setTimeout(10)
  expect(await done(storage.messages.accept(newMessage(agent)))).toMatchObject({ kind: 'created' })
  await client.query('commit')
  client.release()
  for (const one of recorded) expect(await done(one)).toMatchObject([{ kind: 'recorded' }])
})

it('a success of a healthy webhook does not wait for a commit that changes the webhook', async () => {
  const agent = await newAgent()
  await publish(agent, 1)
  const [claim] = await done(
    mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]),
  )
  if (!claim) throw new Error('no delivery was claimed')
  const client = await pool.connect()
  await client.query('begin; select 1 from agent_messaging.webhooks for update')
  const recorded = await done(
    storage.deliveries.recordAttempts([
      {
        deliveryId: claim.delivery.id,
        token: claim.lease.token,
        attempt: { startedAt: NOW, durationMs: 1, outcome: accepted() },
        state: { kind: 'delivered', deliveredAt: NOW },
        decideHealth: ({ health }) => ({
          change: { health: { ...health, lastSuccessAt: NOW }, updatedAt: NOW },
        }),
      },
    ]),
  )
  expect(recorded).toMatchObject([{ kind: 'recorded' }])
  await client.query('commit')
  client.release()
})

it('one of several concurrent creates gets a name, or the last place for an agent or a webhook', async () => {
  const agents = Array.from({ length: 8 }, () => anAgent({ name: 'wanted' }))
  const named = await Promise.all(agents.map((agent) => done(storage.agents.create(agent, 1_000))))
  expect(named.filter((kind) => kind === 'created')).toHaveLength(1)
  const projectId = ids.next()
  await done(storage.credentials.createProject(aProject({ id: projectId })))
  const placed = await Promise.all(
    Array.from({ length: 8 }, () => done(storage.agents.create(anAgent({ projectId }), 3))),
  )
  expect(placed.filter((kind) => kind === 'created')).toHaveLength(3)
  const webhooks = Array.from({ length: 8 }, () => aWebhook({ id: ids.next(), projectId }))
  const made = await Promise.all(
    webhooks.map((webhook) => done(storage.webhooks.create(webhook, 3))),
  )
  expect(made.filter((kind) => kind === 'created')).toHaveLength(3)
})

it('a webhook that is enabled during a claim gets one probe', async () => {
  const agent = await newAgent()
  const webhook = aWebhook({
    id: ids.next(),
    filter: { agentId: agent.id },
    status: { kind: 'disabled', reason: 'operator', at: NOW },
  })
  await done(storage.webhooks.create(webhook, 1_000))
  for (let n = 0; n < 5; n++) await publish(agent, 0)
  const claim = () =>
    done(mapped(storage.deliveries.claimDue(CLAIM_ALL), (claims) => [...claims.deliveries]))
  const host = await pool.connect()
  await host.query('begin; lock table agent_messaging.deliveries in access exclusive mode')
  const claimed = claim()
  await vi.waitUntil(async () => (await pool.query(WAITING)).rowCount === 1, { timeout: 60_000 })
  const health = {
    consecutiveFailures: 0,
    circuit: { kind: 'open', until: NOW, trips: 0 },
  } as const
  await done(
    storage.webhooks.update(PROJECT_ID, webhook.id, {
      status: { kind: 'enabled' },
      health,
      updatedAt: NOW,
    }),
  )
  await host.query('commit')
  host.release()
  const claims = [...(await claimed), ...(await claim())]
  expect(claims.filter((one) => one.webhook.id === webhook.id)).toHaveLength(1)
})
