import { expect } from 'vitest'
import type { Sealed, ResealedRows, ResealStep } from '@org/agent-messaging-core/storage'
import { PROJECT_ID } from '../../builders.js'
import { CLAIM_ALL, LEASE_MS, NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

/** In steps of two rows, from the first to the last. */
async function walk<Row>(
  step: (step: ResealStep<Row>) => Promise<ResealedRows>,
  reseal: (row: Row) => Row | undefined,
): Promise<[resealed: number, unopened: number]> {
  let sum: [number, number] = [0, 0]
  for (let after: number | undefined = 0; after !== undefined;) {
    const { resealed, unopened, next }: ResealedRows = await step({ after, limit: 2, reseal })
    sum = [sum[0] + resealed, sum[1] + unopened]
    after = next
  }
  return sum
}

const anew = (sealed: Sealed): Sealed => `${sealed} anew` as Sealed

export function resealSuite(it: StorageTest): void {
  it('reseals the secrets of the webhooks of all projects, and changes nothing else', async ({
    storage: { webhooks },
    second,
    scene,
  }) => {
    const headers = { names: ['X-A'], sealed: 'headers' as Sealed }
    const facts = {
      headers,
      previousSecret: { secret: 'old' as Sealed, until: NOW + 9 },
      description: 'd',
    }
    const disabled = { kind: 'disabled', reason: 'gone', at: NOW } as const
    const all = [
      await scene.webhook(facts),
      await scene.webhook({ projectId: OTHER_PROJECT_ID, status: disabled }),
      await scene.webhook(),
    ]
    const deleted = await scene.webhook()
    await webhooks.delete(PROJECT_ID, deleted.id)
    const seen: string[] = []
    const done = await walk(webhooks.reseal, (webhook) => {
      seen.push(webhook.id)
      const { secret, previousSecret: old, headers: own } = webhook
      const grace = old && { previousSecret: { ...old, secret: anew(old.secret) } }
      return {
        ...webhook,
        secret: anew(secret),
        ...grace,
        ...(own && { headers: { ...own, sealed: anew(own.sealed) } }),
      }
    })
    expect(done).toEqual([3, 0])
    expect([...new Set(seen)]).toEqual(all.map(({ id }) => id))
    const [first, other] = await Promise.all(
      all.map(({ projectId, id }) => second.webhooks.get(projectId, id)),
    )
    expect(first).toEqual({
      ...all[0],
      secret: anew(all[0]?.secret as Sealed),
      previousSecret: { secret: 'old anew', until: NOW + 9 },
      headers: { names: ['X-A'], sealed: 'headers anew' },
    })
    expect(other).toEqual({ ...all[1], secret: anew(all[1]?.secret as Sealed) })
  })

  it('later claims return the resealed secrets', async ({
    storage: { webhooks, deliveries },
    scene,
  }) => {
    const { secret } = await scene.webhook()
    await scene.publish(await scene.agent())
    await walk(webhooks.reseal, (webhook) => ({ ...webhook, secret: anew(webhook.secret) }))
    const [claimed] = await deliveries.claim({ ...CLAIM_ALL, now: NOW, until: NOW + LEASE_MS })
    expect(claimed?.webhook.secret).toBe(anew(secret))
  })

  it('reseals the secrets of agents, also of running ones', async ({
    storage: { agents },
    second,
    scene,
  }) => {
    const runtime = {
      kind: 'http',
      options: { url: 'https://agent.example' },
      secrets: 'v1' as Sealed,
    }
    const [running, other] = [
      await scene.agent({ runtime }),
      await scene.agent({ runtime, projectId: OTHER_PROJECT_ID }),
    ]
    const bare = await scene.agent()
    const done = await walk(agents.reseal, (agent) => {
      const { secrets, ...rest } = agent.runtime
      return secrets === undefined
        ? agent
        : { ...agent, runtime: { ...rest, secrets: anew(secrets) } }
    })
    expect(done).toEqual([2, 0])
    for (const agent of [running, other]) {
      expect(await second.agents.get(agent.projectId, agent.name)).toEqual({
        ...agent,
        runtime: { ...runtime, secrets: 'v1 anew' },
      })
    }
    expect(await second.agents.get(PROJECT_ID, bare.id)).toEqual(bare)
  })

  it('leaves well sealed and unopenable secrets as they are, and counts them separately', async ({
    storage: { webhooks, agents },
    scene,
  }) => {
    const kept = [await scene.webhook(), await scene.webhook(), await scene.webhook()]
    const agent = await scene.agent()
    expect(
      await walk(webhooks.reseal, (webhook) => (webhook.id === kept[0]?.id ? webhook : undefined)),
    ).toEqual([0, 2])
    expect(await walk(agents.reseal, () => undefined)).toEqual([0, 1])
    for (const webhook of kept) expect(await webhooks.get(PROJECT_ID, webhook.id)).toEqual(webhook)
    expect(await agents.get(PROJECT_ID, agent.id)).toEqual(agent)
  })

  it('replaces a setting that is still what it was', async ({
    storage: { credentials },
    second,
  }) => {
    await credentials.replaceSetting('canary', undefined, 'old')
    const replaced = await Promise.all(
      ['a', 'b'].map((to) => second.credentials.replaceSetting('canary', 'old', to)),
    )
    expect(replaced.filter(Boolean)).toHaveLength(1)
    expect(['a', 'b']).toContain(await credentials.readSetting('canary'))
    expect(await credentials.replaceSetting('canary', 'old', 'c')).toBe(false)
    expect(await credentials.replaceSetting('none', '', 'c')).toBe(false)
    expect(await credentials.readSetting('none')).toBeUndefined()
  })
}
