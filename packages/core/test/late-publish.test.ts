import { expect, it } from 'vitest'
import { scene } from './scene.js'

it('a publish is refused if its agent is deleted between the check and the commit', async () => {
  const { service, storage, project, bot } = await scene()
  const projectId = project.id
  const { publish } = storage.events
  Object.assign(storage.events, {
    publish: async (publication: Parameters<typeof publish>[0]) => {
      await service.agents.delete({ projectId, agent: bot.id, force: true })
      return publish(publication)
    },
  })
  const events = [{}, { agentId: bot.id }].map((of) => ({ type: 'order.paid', data: {}, ...of }))
  const refused = {
    kind: 'invalid',
    issues: [{ path: 'events.1.agentId', message: 'must be the id of an agent of this project' }],
  }
  await expect(service.events.publishBatch({ projectId, events })).rejects.toMatchObject({
    details: refused,
  })
  expect((await service.events.list({ projectId, published: true })).data).toEqual([])
})
