import { unwrap, mapped } from '@org/agent-messaging-testing'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { freezeEvent } from '@org/agent-messaging-core/storage'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { CRON_SECRET, realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

/** More than one step of the recovery takes. */
const COUNT = 2_400
const SLICE_MS = 10
const LEASE_MS = 60_000
/** A process that is killed during its deliveries holds them as long as their leases. */
const SHORT_LEASES = { SERVICE_DELIVERY_TIMEOUT_MS: '2000', SERVICE_DELIVERY_LEASE_MS: '3000' }

type Recovery = {
  readonly id: string
  readonly status: string
  readonly matched: number
  readonly redelivered: number
  readonly delivered: number
}

const jsonOf = async <T>(response: Promise<Response>): Promise<T> =>
  (await (await response).json()) as T

/** Adds exhausted deliveries of the only webhook to the file of a stopped server. */
async function addExhausted({ folder }: RealServer, webhookId: string): Promise<void> {
  const storage = openSqliteStorage({ path: path.join(folder, 'service.db') })
  const { deliveries, credentials } = storage
  const { ids } = nodePlatform({ masterKey: Buffer.alloc(32, 1) })
  const now = Date.now()
  const projectId = unwrap(await credentials.listProjects({ limit: 1 })).data[0]?.id
  const test = { event: 'webhook.test', data: { webhookId } } as const
  const publish = () =>
    deliveries.publishTo(webhookId, freezeEvent(test, ids.next(), projectId ?? '', now), ids.next())
  await Promise.all(Array.from({ length: COUNT }, publish))
  const claim = {
    now,
    until: now + LEASE_MS,
    limit: COUNT,
    perWebhook: COUNT,
    perProject: COUNT,
    retries: 0,
    except: new Set<string>(),
    rooms: new Map<string, number>(),
  }
  const claimed = unwrap(
    await mapped(deliveries.claimDue(claim), (claims) => [...claims.deliveries]),
  )
  expect(claimed).toHaveLength(COUNT)
  const outcome = { kind: 'refused', statusCode: 500, responseBody: '' } as const
  await Promise.all(
    claimed.map(({ delivery, lease }) =>
      deliveries.recordAttempts([
        {
          deliveryId: delivery.id,
          token: lease.token,
          attempt: { startedAt: now, durationMs: 1, outcome },
          state: { kind: 'exhausted', exhaustedAt: now },
        },
      ]),
    ),
  )
  await storage.close()
}

/**
 * Makes each page of a recovery take a tenth of a second, so that a busy machine cannot do all of
 * them in a slice.
 */
const SLOW_PAGES = `create trigger slow_pages after update on recoveries begin
  select count(*) from deliveries a, deliveries b where a.seq + b.seq = 0; end`

function change({ folder }: RealServer, sql: string): void {
  const db = new Database(path.join(folder, 'service.db'), { timeout: 60_000 })
  db.exec(sql)
  db.close()
}

/** Lets a server run in short slices, and stops it when the condition is true. */
async function runUntil(server: RealServer, condition: () => Promise<boolean>): Promise<void> {
  const pid = server.pid()
  if (pid === undefined) throw new Error('the server does not run')
  for (;;) {
    process.kill(pid, 'SIGSTOP')
    if (await condition()) return
    process.kill(pid, 'SIGCONT')
    await sleep(SLICE_MS)
  }
}

it('a recovery continues after a kill, and two processes do each page once', async () => {
  const hook = await receiver()
  const one = await realServer({ env: SHORT_LEASES })
  const body = { url: hook.url, events: ['webhook.disabled'] }
  const webhook = await jsonOf<{ id: string }>(one.api('POST', '/v1/webhooks', body))
  await one.kill('SIGTERM')
  await addExhausted(one, webhook.id)
  change(one, SLOW_PAGES)
  await one.start()
  const other = await realServer({ beside: one, args: ['--no-worker'], env: SHORT_LEASES })
  try {
    const { id } = await jsonOf<Recovery>(
      one.api('POST', '/v1/recoveries', { webhookId: webhook.id }),
    )
    const read = () => jsonOf<Recovery>(other.api('GET', `/v1/recoveries/${id}`))
    await runUntil(one, async () => (await read()).matched > 0)
    await one.kill('SIGKILL')
    change(one, 'drop trigger slow_pages')
    const killed = await read()
    expect(killed.status).toBe('running')
    expect(killed.matched).toBeLessThan(COUNT)

    const headers = { authorization: `Bearer ${CRON_SECRET}` }
    await Promise.all([
      one.start(),
      fetch(`${other.url}/api/cron/webhooks`, { method: 'POST', headers }),
    ])
    expect(await until(async () => (await read()).status !== 'running')).toBe(true)
    expect(await read()).toMatchObject({ matched: COUNT, redelivered: COUNT })
    const received = () => new Set(hook.received.map((got) => got.headers['x-service-delivery']))
    expect(await until(() => received().size === COUNT, 60_000)).toBe(true)
    expect(await until(async () => (await read()).status === 'done', 60_000)).toBe(true)
    expect(await read()).toMatchObject({ redelivered: COUNT, delivered: COUNT })
  } finally {
    await other.dispose()
    await one.dispose()
    await hook.close()
  }
}, 240_000)
