import { expect, it } from 'vitest'
import { createService } from '@org/agent-messaging-core'
import { fakePlatform, unwrap } from '@org/agent-messaging-testing'

it('the lease keeper has a lease before its run begins, until the run is long overdue, and no longer than it goes on', async () => {
  const said: string[] = []
  const platform = fakePlatform({
    handler: ({ messageId }) => {
      said.push(`run ${messageId}`)
      return { kind: 'answered', response: '' }
    },
  })
  const { clock } = platform
  const service = createService({
    ...platform,
    leaseKeeper: {
      hold: ({ messageId, token, until }) =>
        void said.push(`hold ${messageId} ${token} for ${until - clock.now()} ms`),
      release: ({ messageId, token }) => void said.push(`release ${messageId} ${token}`),
    },
  })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  await service.agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
  })
  const sent = await service.messages.send({
    projectId,
    agent: 'bot',
    sessionId: 's',
    message: 'x',
  })
  const { id } = sent.message
  await clock.advance(0)
  expect(said).toEqual([`hold ${id} 1 for 630000 ms`, `run ${id}`, `release ${id} 1`])
})

it('the lease keeper has the leases of all messages accepted together before the first of their runs begins, even when that run blocks', async () => {
  const said: string[] = []
  const platform = fakePlatform({
    handler: () => {
      said.push('run')
      return { kind: 'answered', response: '' }
    },
  })
  const service = createService({
    ...platform,
    leaseKeeper: { hold: () => void said.push('hold'), release: () => undefined },
  })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'test' })
  await service.agents.create({
    projectId,
    name: 'bot',
    runtime: { kind: 'fake' },
    desiredState: 'running',
  })
  await Promise.all(
    ['1', '2', '3'].map((sessionId) =>
      service.messages.send({ projectId, agent: 'bot', sessionId, message: 'x' }),
    ),
  )
  expect(said).toEqual(['hold', 'hold', 'hold', 'run', 'run', 'run'])

  said.length = 0
  await service.agents.update({ projectId, agent: 'bot', change: { concurrency: 3 } })
  const [agent] = unwrap(await platform.storage.agents.listActive())
  for (const sessionId of ['4', '5', '6']) {
    const facts = {
      id: platform.ids.next(),
      projectId,
      agentId: agent?.id ?? '',
      sessionId,
      message: 'x',
      now: platform.clock.now(),
    }
    await platform.storage.messages.accept({ ...facts, executionPrincipal: { type: 'service' } })
  }
  await platform.clock.advance(1_000)
  expect(said).toEqual(['hold', 'hold', 'hold', 'run', 'run', 'run'])
})
