import type { Database } from 'better-sqlite3'
import { expect, it } from 'vitest'
import { createService, type Webhook } from '@org/agent-messaging-core'
import type { ClaimedDelivery, Storage } from '@org/agent-messaging-core/storage'
import {
  anAgent,
  anEvent,
  aProject,
  aWebhook,
  BUILT_AT,
  fakePlatform,
  PROJECT_ID,
  mapped,
  unwrap,
} from '@org/agent-messaging-testing'
import { GroupCommitter } from '../src/database/group-committer.js'
import { openConnection } from '../src/database/connection.js'
import { migrate } from '../src/schema/migrate.js'
import { storesOf } from '../src/stores.js'

const BACKLOG = 100_000
const NOW = BUILT_AT
const LATER = NOW + 3_600_000
const all = {
  now: LATER,
  until: LATER + 30_000,
  limit: 256,
  perWebhook: 8,
  perProject: 64,
  retries: 192,
  rooms: new Map(),
  except: new Set<string>(),
}

type Lab = {
  readonly db: Database
  readonly storage: Storage
  /** The number of rows that statements have returned or changed. */
  rows(): number
}

/** The stores over a database in memory that counts rows. */
async function openLab(): Promise<Lab> {
  const db = openConnection(':memory:', 0)
  migrate(db)
  let rows = 0
  const counted = countRows(db, (by) => (rows += by))
  const storage = {
    ...storesOf(counted, new GroupCommitter(counted, { maxQueued: 1_000, busyTimeoutMs: 0 })),
    close: async () => void db.close(),
  }
  await storage.credentials.createProject(aProject())
  return { db, storage, rows: () => rows }
}

function countRows(db: Database, count: (rows: number) => void): Database {
  const prepare = db.prepare.bind(db)
  const counted = (sql: string) =>
    new Proxy(prepare(sql), {
      get(statement, name, proxy) {
        const member: unknown = Reflect.get(statement, name, statement)
        if (name === 'pluck') return () => (statement.pluck(), proxy)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          const result: unknown = member.apply(statement, args)
          if (name === 'all') count((result as unknown[]).length)
          if (name === 'get' && result !== undefined) count(1)
          if (name === 'run') count((result as { changes: number }).changes)
          return result
        }
      },
    })
  return Object.assign(db, { prepare: counted })
}

/** Inserts due deliveries of one webhook. */
function pileUp(
  { db }: Pick<Lab, 'db'>,
  webhook: Webhook,
  times: number,
  attemptCount: number,
): void {
  const event = anEvent({ id: '', projectId: PROJECT_ID })
  db.exec(
    `insert into events (id, project_id, has_deliveries, name, body, created_at) values ('${event.id}', '${event.projectId}', 1, 'agent.started', '{}', ${NOW})`,
  )
  db.exec(`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${times})
    insert into deliveries (id, project_id, webhook_seq, receiver_seq, event_seq, state, is_claimed, step, attempt_count, due_at, lease, created_at)
    select '${webhook.id}-${attemptCount}-' || i, '${PROJECT_ID}', (select seq from webhooks where id = '${webhook.id}'),
      (select seq from webhooks where id = '${webhook.id}'),
      (select max(seq) from events), 'pending', 0, 0, ${attemptCount}, ${NOW} + i, 0, ${NOW} from n`)
}

async function register({ storage }: Lab, webhook: Partial<Webhook> = {}): Promise<Webhook> {
  const made = aWebhook(webhook)
  await storage.webhooks.create(made, 1_000)
  return made
}

async function claim(
  { storage, rows }: Lab,
  query = {},
): Promise<{ claimed: ClaimedDelivery[]; rows: number }> {
  const before = rows()
  const claimed = unwrap(
    await mapped(storage.deliveries.claimDue({ ...all, ...query }), (claims) => [
      ...claims.deliveries,
    ]),
  )
  return { claimed, rows: rows() - before }
}

const open = {
  health: { consecutiveFailures: 9, circuit: { kind: 'open', until: LATER + 1, trips: 1 } },
} as const
const except = (webhook: Webhook) => ({ except: new Set([webhook.id]) })

it.for([
  ['whose circuit is open', open, () => ({})],
  ['that is disabled', { status: { kind: 'disabled', reason: 'failing', at: NOW } }, () => ({})],
  ['that the claim excludes', {}, except],
] as const)(
  'a backlog of 100,000 for a receiver %s costs other claims as much as a backlog of ten',
  async ([, state, query]) => {
    const costs = []
    for (const backlog of [10, BACKLOG]) {
      const lab = await openLab()
      const blocked = await register(lab, state)
      const healthy = await register(lab)
      pileUp(lab, blocked, backlog, 0)
      pileUp(lab, healthy, 3, 0)
      const { claimed, rows } = await claim(lab, query(blocked))
      expect(claimed.map(({ webhook }) => webhook.id)).toEqual([healthy.id, healthy.id, healthy.id])
      costs.push(rows)
      await lab.storage.close()
    }
    expect(costs[1]).toBe(costs[0])
    expect(costs[1]).toBeLessThan(30)
  },
)

it('a claim reads only the deliveries that it takes from a backlog of 100,000', async () => {
  const lab = await openLab()
  const webhook = await register(lab)
  pileUp(lab, webhook, BACKLOG, 0)
  const { claimed, rows } = await claim(lab)
  expect(claimed).toHaveLength(8)
  expect(rows).toBeLessThan(40)
  await lab.storage.close()
})

it('a claim finds a first attempt behind 100,000 older retries of the same receiver', async () => {
  const lab = await openLab()
  const webhook = await register(lab)
  pileUp(lab, webhook, BACKLOG, 3)
  pileUp(lab, webhook, 1, 0)
  lab.db.exec(`update deliveries set due_at = ${LATER} where attempt_count = 0`)
  const { claimed, rows } = await claim(lab, { retries: 2 })
  expect(claimed.map(({ delivery }) => delivery.attemptCount)).toEqual([3, 3, 0])
  expect(rows).toBeLessThan(20)
  await lab.storage.close()
})

it('other receivers get their events at once while 100,000 deliveries wait for a slow one', async () => {
  const lab = await openLab()
  const { clock, sender, ...platform } = fakePlatform({
    handler: ({ message }) => ({ kind: 'answered', response: message }),
  })
  const asked: string[] = []
  const send: typeof sender.send = (request) => {
    asked.push(request.url)
    return request.url === 'https://hangs.example'
      ? new Promise(() => undefined)
      : sender.send(request)
  }
  const service = createService({
    ...platform,
    clock,
    sender: { ...sender, send },
    storage: lab.storage,
  })
  const webhookTo = async (url: string, event: 'agent.error' | 'message.responded') =>
    (await service.webhooks.create({ projectId: PROJECT_ID, url, events: [event] })).webhook
  pileUp(lab, await webhookTo('https://hangs.example', 'agent.error'), BACKLOG, 0)
  await webhookTo('https://fast.example', 'message.responded')
  await lab.storage.agents.create(anAgent({ name: 'bot' }), 1_000)
  await clock.advance(LATER - clock.now())
  await service.start()

  const countOf = (url: string) => asked.filter((one) => one === url).length
  for (let n = 1; n <= 20; n++) {
    const sent = service.messages.send({
      projectId: PROJECT_ID,
      agent: 'bot',
      sessionId: `s${n}`,
      message: 'hi',
    })
    await clock.until(() => ioTurn().then(() => countOf('https://fast.example') === n), {
      stepMs: 1,
      maxMs: 100,
    })
    await sent
  }
  expect(countOf('https://hangs.example')).toBe(8)
  await lab.storage.close()
})

/** Lets the committer flush. */
const ioTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
