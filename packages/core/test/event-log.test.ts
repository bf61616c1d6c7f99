import { createService, defaultPolicy, type MessagingService } from '@org/agent-messaging-core'
import { fakePlatform, memoryWorkSignal, refusalOf } from '@org/agent-messaging-testing'
import { expect, it } from 'vitest'

/** Two processes on one storage, with one agent. Only the second process is asked for events. */
async function scene({ hasSignal = true, maxWaitingPerProject = 10 } = {}) {
  const retention = { ...defaultPolicy.retention, eventsMs: 10_000 }
  const policy = { maxWaitingPerProject, retention }
  const platform = { ...fakePlatform(), policy }
  const signal = hasSignal ? { workSignal: memoryWorkSignal() } : {}
  const writer = createService({ ...platform, ...signal })
  const reader = createService({ ...platform, ...signal, storage: platform.storage.reopen() })
  const { id: projectId } = await writer.projects.create({ name: 'test' })
  await writer.start()
  const create = (name: string) =>
    writer.agents.create({
      projectId,
      name,
      runtime: { kind: 'fake' },
      desiredState: 'running',
    })
  return { ...platform, writer, reader, projectId, create }
}

const namesOf = async (reading: ReturnType<MessagingService['events']['read']>) =>
  (await reading).data.map(({ name }) => name)

it('an event wakes a reader in another process at once', async () => {
  const { clock, create, projectId, reader } = await scene()
  const reading = reader.events.read({ projectId, waitMs: 60_000 })
  await clock.advance(0)
  const before = clock.now()
  await create('one')
  await clock.advance(0)
  expect(await namesOf(reading)).toEqual(['agent.started'])
  expect(clock.now()).toBe(before)
})

it('a poll finds an event of which no news came', async () => {
  const { clock, create, projectId, reader } = await scene({ hasSignal: false })
  const reading = reader.events.read({ projectId, waitMs: 60_000 })
  await clock.advance(0)
  await create('one')
  await clock.advance(500)
  expect(await namesOf(reading)).toEqual(['agent.started'])
})

it('one more waiting reader than a project can have is answered at once', async () => {
  const { clock, create, projectId, reader } = await scene({ maxWaitingPerProject: 1 })
  const waiting = reader.events.read({ projectId, waitMs: 60_000 })
  await clock.advance(0)
  expect(await namesOf(reader.events.read({ projectId, waitMs: 60_000 }))).toEqual([])
  await create('one')
  await clock.advance(0)
  expect(await namesOf(waiting)).toEqual(['agent.started'])
})

it('a reader that leaves stops waiting, and so does every reader at a stop', async () => {
  const { clock, projectId, reader } = await scene()
  const abort = new AbortController()
  const leaving = reader.events.read({ projectId, waitMs: 60_000, abort: abort.signal })
  await clock.advance(0)
  abort.abort()
  await clock.advance(500)
  expect(await namesOf(leaving)).toEqual([])
  const waiting = reader.events.read({ projectId, waitMs: 60_000 })
  await clock.advance(0)
  void reader.stop()
  expect(await namesOf(waiting)).toEqual([])
})

it('old events are purged after their retention, and their cursors expire', async () => {
  const { clock, create, projectId, reader, writer } = await scene()
  const { nextCursor } = await reader.events.read({ projectId })
  await create('one')
  await clock.advance(0)
  await clock.advance(10_001)
  await writer.tick({ budgetMs: 1_000 })
  const expired = await refusalOf(reader.events.read({ projectId, after: nextCursor }))
  expect(expired.kind).toBe('event_cursor_expired')
  expect(await namesOf(reader.events.read({ projectId }))).toEqual([])
})

it('refuses a text that is no cursor', async () => {
  const { projectId, reader } = await scene()
  const refused = await refusalOf(reader.events.read({ projectId, after: '-1' }))
  expect(refused.kind).toBe('invalid')
})
