import {
  openPostgresStorage,
  postgresLeaseKeeper,
  postgresSignal,
} from '@org/agent-messaging-adapter-postgres'
import { anAgent, aProject, newMessage, unwrap } from '@org/agent-messaging-testing'
import type { Message } from '@org/agent-messaging-core'
import type { Storage } from '@org/agent-messaging-core/storage'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { needs } from '../../../scripts/test-needs.js'
import { testPgBouncer } from './pgbouncer.js'
import { testPostgres, type TestPostgres } from './test-postgres.js'

describe('behind PgBouncer in transaction mode', needs('pgbouncer'), () => {
  let postgres: TestPostgres
  let bouncer: Awaited<ReturnType<typeof testPgBouncer>>
  let direct: string
  beforeAll(async () => {
    postgres = await testPostgres()
    direct = await postgres.database()
    bouncer = await testPgBouncer(direct)
  })
  afterAll(async () => {
    await bouncer.close()
    await postgres.close()
  })

  it('several processes migrate, accept and answer over a few connections', async () => {
    const storages = await Promise.all(
      Array.from({ length: 4 }, () => openPostgresStorage({ connectionString: bouncer.url })),
    )
    const [agent, now] = [anAgent({ concurrency: 100 }), Date.now()]
    const first = storages[0] as Storage
    unwrap(await first.credentials.createProject(aProject()))
    unwrap(await first.agents.create(agent, 1_000))
    const sends = storages.flatMap(({ messages }, process) =>
      Array.from({ length: 25 }, async (_, n) => {
        const accepted = unwrap(
          await messages.accept(
            newMessage(agent, { sessionId: `${process} ${n}`, claimUntil: now }),
          ),
        )
        if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
        const { message, lease } = accepted.claimed
        const state = {
          kind: 'responded',
          response: 'done',
          respondedAt: now,
          responseTimeMs: 0,
        } as const
        return unwrap(
          await messages.recordRun({ messageId: message.id, token: lease.token, state, now }),
        ).kind
      }),
    )
    expect(new Set(await Promise.all(sends))).toEqual(new Set(['recorded']))
    for (const storage of storages) await storage.close()
  })

  it('wake-ups arrive over a direct connection', async () => {
    const [from, to] = [
      postgresSignal({ connectionString: direct }),
      postgresSignal({ connectionString: direct }),
    ]
    const heard = vi.fn<() => void>()
    to.listen('told', heard)
    await vi.waitFor(
      () => {
        from.notify({ id: 'told' } as Message)
        expect(heard).toHaveBeenCalled()
      },
      { timeout: 60_000, interval: 50 },
    )
    await Promise.all([from.close(), to.close()])
  })

  it('a lease keeper extends leases through the pooler', async () => {
    const [storage, agent] = [
      await openPostgresStorage({ connectionString: bouncer.url }),
      anAgent(),
    ]
    const now = Date.now()
    unwrap(await storage.agents.create(agent, 1_000))
    const accepted = unwrap(await storage.messages.accept(newMessage(agent, { claimUntil: now })))
    if (accepted.kind !== 'claimed') throw new Error(accepted.kind)
    const { message, lease } = accepted.claimed
    const leaseKeeper = postgresLeaseKeeper({ connectionString: bouncer.url, leaseMs: 30_000 })
    leaseKeeper.hold({ messageId: message.id, token: lease.token, until: now + 60_000 })
    const client = new pg.Client({ connectionString: direct })
    await client.connect()
    const leaseEnd = async () => {
      const { rows } = await client.query<{ due_at: string }>(
        'select due_at from agent_messaging.sessions where last_message_id = $1',
        [message.id],
      )
      return Number(rows[0]?.due_at)
    }
    await vi.waitFor(async () => expect(await leaseEnd()).toBeGreaterThan(now), { timeout: 60_000 })
    await client.end()
    await leaseKeeper.close()
    await storage.close()
  })
})
