import { createService } from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'

it('tells the customer when the agent needs longer than 30 seconds', async () => {
  const fakes = fakePlatform()
  const service = createService(fakes)
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  await service.agents.create({
    projectId,
    name: 'support',
    runtime: { kind: 'fake' },
  })
  await service.webhooks.create({
    projectId,
    url: 'https://crm.example/hook',
    events: ['message.responded'],
  })

  const sending = service.messages.send({
    projectId,
    agent: 'support',
    sessionId: 'ticket-7',
    message: 'My parcel is lost',
  })
  await fakes.clock.advance(30_000)
  const { message } = await sending
  expect(message.state.kind).toBe('running') // 202: the customer reads "we are on it"

  fakes.runtime.answer(message.id, 'It is at your neighbour')
  await fakes.clock.advance(0)
  expect(fakes.sender.requests.map(({ body }) => JSON.parse(body).data.response)).toEqual([
    'It is at your neighbour',
  ])
})
