import { expect } from 'vitest'
import { refTo } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

export function messageMetadataSuite(it: StorageTest): void {
  it('replaces the metadata of a message in any state, and keeps the rest', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent()
    const run = await scene.run(agent, { metadata: { a: 1 } })
    const metadata = { b: { c: true }, correlationId: 'c-1' }
    const changed = { ...run.message, metadata }
    expect(await messages.setMetadata({ ...refTo(run.message), metadata })).toEqual(changed)
    expect(await scene.reread(run.message)).toEqual(changed)
    await scene.answer(run)
    const answered = await scene.reread(run.message)
    expect(answered).toMatchObject({ metadata, state: { kind: 'responded' } })
    const again = { ...answered, metadata: { a: 2 } }
    expect(await messages.setMetadata({ ...refTo(run.message), metadata: { a: 2 } })).toEqual(again)
    expect(await scene.reread(run.message)).toEqual(again)
  })

  it('changes no message of another agent or project', async ({ storage, scene }) => {
    const message = await scene.send(await scene.agent(), { metadata: { a: 1 } })
    const { id: agentId } = await scene.agent()
    const metadata = { a: 2 }
    for (const other of [{ agentId }, { projectId: agentId }])
      expect(
        await storage.messages.setMetadata({ ...refTo(message), ...other, metadata }),
      ).toBeUndefined()
    expect(await scene.reread(message)).toEqual(message)
  })

  it('is searched by the new correlation id', async ({ storage: { messages }, scene }) => {
    const message = await scene.send(await scene.agent(), { metadata: { correlationId: 'old' } })
    await messages.setMetadata({ ...refTo(message), metadata: { correlationId: 'new' } })
    const found = async (correlationId: string) =>
      (await messages.search({ projectId: message.projectId, correlationId }, { limit: 9 })).data
    expect(await found('old')).toEqual([])
    expect((await found('new')).map(({ id }) => id)).toEqual([message.id])
  })
}
