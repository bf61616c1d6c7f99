import { expect } from 'vitest'
import { anApiKey, newMessage, PROJECT_ID } from '../../builders.js'
import { NOW, OTHER_PROJECT_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const PAGE = { limit: 10 }

/**
 * Each row is looked for from the other project, by its exact id; and is still there afterwards.
 */
export function isolationSuite(it: StorageTest): void {
  it('G6: messages of another project are not there', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const message = await scene.send(agent)
    expect(await scene.reread({ ...message, projectId: OTHER_PROJECT_ID })).toBeUndefined()
    expect(
      (await messages.list({ projectId: OTHER_PROJECT_ID, agentId: agent.id }, PAGE)).data,
    ).toEqual([])
    expect(
      await messages.accept(newMessage({ id: agent.id, projectId: OTHER_PROJECT_ID })),
    ).toEqual({ kind: 'agent_not_found' })
    expect(await scene.reread(message)).toEqual(message)
  })

  it('G6: messages of another agent are not there', async ({ storage: { messages }, scene }) => {
    const [agent, other] = [await scene.agent(), await scene.agent()]
    const message = await scene.send(agent)
    expect(await scene.reread({ ...message, agentId: other.id })).toBeUndefined()
    expect((await messages.list({ projectId: PROJECT_ID, agentId: other.id }, PAGE)).data).toEqual(
      [],
    )
  })

  it('G6: agents of another project are not there, and neither read, changed nor deleted', async ({
    storage: { agents },
    scene,
  }) => {
    const agent = await scene.agent()
    expect(await agents.get(OTHER_PROJECT_ID, agent.id)).toBeUndefined()
    expect(await agents.get(OTHER_PROJECT_ID, agent.name)).toBeUndefined()
    expect(
      await agents.update(OTHER_PROJECT_ID, agent.id, { name: 'mine', updatedAt: NOW }),
    ).toBeUndefined()
    expect(await agents.delete(OTHER_PROJECT_ID, agent.id)).toBeUndefined()
    expect((await agents.list(OTHER_PROJECT_ID, PAGE)).data).toEqual([])
    expect(await agents.get(PROJECT_ID, agent.id)).toEqual(agent)
  })

  it('G6: two projects can have agents with the same name', async ({
    storage: { agents },
    scene,
  }) => {
    const here = await scene.agent({ name: 'echo' })
    const there = await scene.agent({ name: 'echo', projectId: OTHER_PROJECT_ID })
    expect(await agents.get(PROJECT_ID, 'echo')).toEqual(here)
    expect(await agents.get(OTHER_PROJECT_ID, 'echo')).toEqual(there)
  })

  it('G6: webhooks of another project are not there, and neither read, changed nor deleted', async ({
    storage: { webhooks },
    scene,
  }) => {
    const webhook = await scene.webhook()
    expect(await webhooks.get(OTHER_PROJECT_ID, webhook.id)).toBeUndefined()
    expect(
      await webhooks.update(OTHER_PROJECT_ID, webhook.id, {
        url: 'https://mine.example',
        updatedAt: NOW,
      }),
    ).toBeUndefined()
    expect(await webhooks.delete(OTHER_PROJECT_ID, webhook.id)).toBe(false)
    expect((await webhooks.list(OTHER_PROJECT_ID, PAGE)).data).toEqual([])
    expect(await webhooks.get(PROJECT_ID, webhook.id)).toEqual(webhook)
  })

  it('G6: deliveries of another project are not there', async ({
    storage: { deliveries },
    scene,
  }) => {
    const webhook = await scene.webhook()
    await scene.publish(await scene.agent())
    const [delivery] = (await deliveries.list({ projectId: PROJECT_ID }, PAGE)).data
    expect(await deliveries.get(OTHER_PROJECT_ID, delivery?.id ?? '')).toBeUndefined()
    expect((await deliveries.list({ projectId: OTHER_PROJECT_ID }, PAGE)).data).toEqual([])
    expect(
      (await deliveries.list({ projectId: OTHER_PROJECT_ID, webhookId: webhook.id }, PAGE)).data,
    ).toEqual([])
    expect(await deliveries.get(PROJECT_ID, delivery?.id ?? '')).toMatchObject({ delivery })
  })

  it('G6: keys of another project are not there, and not revoked', async ({
    storage: { credentials },
  }) => {
    const key = anApiKey()
    await credentials.createKey(key, 'ab'.repeat(32), 1_000)
    expect(await credentials.revokeKey(OTHER_PROJECT_ID, key.id, NOW)).toBeUndefined()
    expect((await credentials.listKeys(OTHER_PROJECT_ID, PAGE)).data).toEqual([])
    expect(await credentials.findByDigest('ab'.repeat(32))).toEqual(key)
  })
}
