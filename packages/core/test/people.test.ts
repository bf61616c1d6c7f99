import { mapped } from '@org/agent-messaging-testing'
import { defaultPolicy, type Policy } from '@org/agent-messaging-core'
import { success } from '@org/agent-messaging-core/runtime'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

const HOUR = 3_600_000
const DAY = 86_400_000
const LATE = 300_000
const echo = {
  handler: ({ message }: { message: string }) => ({ kind: 'answered', response: message }) as const,
}
const keepingFor = (messagesMs: number): Partial<Policy> => ({
  retention: { ...defaultPolicy.retention, messagesMs },
})

/** A service without workers, and what its statistics say about people. */
async function peopleScene(policy: Partial<Policy> = {}) {
  const made = await scene({ ...echo, policy, idle: true })
  const { service, clock, ref, send } = made
  const pass = () => service.tick({ budgetMs: 1_000 })
  const stats = async (from?: number) =>
    await service.stats({ projectId: ref.projectId, step: '1d', from })
  await pass()
  return {
    ...made,
    pass,
    stats,
    start: clock.now(),
    peopleOfDays: async (from?: number) => (await stats(from)).rows.map(({ people }) => people),
    ask: (...endUserIds: string[]) =>
      Promise.all(
        endUserIds.map((endUserId) =>
          send('hi', {
            sessionId: endUserId,
            executionPrincipal: { type: 'end_user', endUserId },
            waitMs: 0,
          }),
        ),
      ),
  }
}

describe('people', () => {
  it('are counted once each when the day is over, and read live until then', async () => {
    const { ask, post, pass, clock, stats, peopleOfDays } = await peopleScene()
    await ask('ann', 'bob')
    await ask('ann')
    await post('from the service')
    await pass()
    expect(await stats()).toMatchObject({
      rows: [{ messages: 4, people: null }],
      peopleToday: { count: 2, isExact: true },
    })
    await clock.advance(DAY)
    await pass()
    expect(await peopleOfDays()).toEqual([null])
    await clock.advance(LATE)
    await pass()
    expect(await stats()).toMatchObject({
      rows: [{ messages: 4, people: 2 }],
      peopleToday: { count: 0, isExact: true },
    })
    await ask('ann')
    await pass()
    expect(await peopleOfDays()).toEqual([2, null])
  })

  it('of an agent are counted with the ones of the project', async () => {
    const { ask, post, pass, clock, service, ref, bot, project } = await peopleScene()
    const runtime = { kind: 'fake' }
    const other = await service.agents.create({ projectId: project.id, name: 'other', runtime })
    await ask('ann', 'bob')
    await post()
    const read = (id: string) =>
      service.stats({ projectId: ref.projectId, step: '1d', by: 'agent', id })
    expect((await read(bot.id)).peopleToday).toEqual({ count: 2, isExact: true })
    expect((await read(other.agent.id)).peopleToday).toEqual({ count: 0, isExact: true })
    await pass()
    await clock.advance(DAY + LATE)
    await pass()
    expect((await read(bot.id)).rows).toMatchObject([{ messages: 3, people: 2 }])
    expect((await read(other.agent.id)).rows).toEqual([])
  })

  it('are 0 on a day with messages of no end user, and only days have them', async () => {
    const { post, pass, clock, service, ref, start, peopleOfDays } = await peopleScene()
    await post()
    await pass()
    await clock.advance(DAY + LATE)
    await pass()
    expect(await peopleOfDays()).toEqual([0])
    const { projectId } = ref
    const others = [
      { projectId, step: '1h', from: start },
      { projectId, step: '1d', by: 'webhook' },
    ] as const
    for (const asked of others) {
      const { rows, peopleToday } = await service.stats(asked)
      expect([rows.map(({ people }) => people), peopleToday]).toEqual([
        asked.step === '1h' ? [undefined] : [],
        undefined,
      ])
    }
    for (const days of [{ to: start }, { from: start + 3 * DAY, to: start + 4 * DAY }]) {
      const read = await service.stats({ projectId, step: '1d', ...days })
      expect(read.peopleToday).toBeUndefined()
    }
  })

  it('of today are counted up to a bound', async () => {
    const { storage, clock, service, ref } = await peopleScene()
    storage.counts.people = () =>
      Promise.resolve(success({ people: 4_000, ofAgents: {}, next: 'x' }))
    const reading = service.stats({ ...ref, step: '1d' })
    await clock.advance(0)
    const { peopleToday } = await reading
    expect(peopleToday).toEqual({ count: 12_000, isExact: false })
  })

  it.each([DAY, 30 * DAY])(
    'are counted before their messages are purged after %i ms, also after days without a process',
    async (messagesMs) => {
      const { ask, pass, clock, storage, start, peopleOfDays } = await peopleScene(
        keepingFor(messagesMs),
      )
      await ask('ann', 'bob')
      await pass()
      await clock.advance(DAY)
      await ask('bob')
      await pass()
      await clock.advance(33 * DAY)
      storage.fail('counts.people')
      expect(await pass()).toMatchObject({ purgedMessages: 0 })
      expect(await pass()).toMatchObject({ purgedMessages: 3 })
      expect(await peopleOfDays(start)).toEqual([2, 1])
    },
  )

  it('are not counted if messages are kept for less than a day', async () => {
    const { ask, pass, clock, stats } = await peopleScene(keepingFor(HOUR))
    await ask('ann')
    await pass()
    await clock.advance(HOUR + 1)
    expect(await pass()).toMatchObject({ purgedMessages: 1 })
    await clock.advance(2 * DAY)
    await pass()
    expect((await stats()).rows).toMatchObject([{ messages: 1, people: null }])
  })

  it('of a counted day stay when a person is erased', async () => {
    const { ask, pass, clock, service, ref, peopleOfDays } = await peopleScene()
    const erase = (endUserId: string) =>
      service.principals.erase({ projectId: ref.projectId, endUserId, force: true })
    await ask('ann', 'bob', 'eve')
    await pass()
    await erase('eve')
    await clock.advance(DAY + LATE)
    await pass()
    await erase('ann')
    await clock.advance(DAY)
    await pass()
    expect(await peopleOfDays()).toEqual([2])
  })

  it('of a day that returns when the clock is set back are counted again', async () => {
    const { ask, pass, clock, service, ref, start, peopleOfDays } = await peopleScene()
    await ask('ann', 'bob')
    clock.set(start + 300 * DAY)
    await pass()
    clock.set(start + HOUR)
    await pass()
    await ask('eve')
    await service.principals.erase({ projectId: ref.projectId, endUserId: 'ann', force: true })
    await clock.advance(DAY)
    await pass()
    await ask('ann')
    await pass()
    expect(await peopleOfDays()).toEqual([2, null])
    await clock.advance(DAY)
    await pass()
    expect(await peopleOfDays()).toEqual([2, 1])
  })

  it('of many projects, and many of one project, are counted in steps', async () => {
    const { ask, pass, clock, service, storage, stats } = await peopleScene()
    for (let n = 0; n < 150; n++) await service.projects.create({ name: `p${n}` })
    await ask('ann', 'bob', 'eve')
    await pass()
    const { people } = storage.counts
    storage.counts.people = (query) => people({ ...query, limit: 2 })
    await clock.advance(DAY + LATE)
    const passing = pass()
    await clock.advance(0)
    await passing
    const reading = stats()
    await clock.advance(0)
    expect((await reading).rows).toMatchObject([{ people: 3 }])
  })

  it('are left to the next start if the service stops', async () => {
    const { ask, pass, clock, another, storage, service, peopleOfDays } = await peopleScene()
    await ask('ann', 'bob', 'eve')
    await pass()
    const { people } = storage.counts
    storage.counts.people = (query) => people({ ...query, limit: 1 })
    await clock.advance(DAY + LATE)
    const passing = pass()
    const stopping = service.stop()
    await clock.advance(1_000)
    await Promise.all([passing, stopping])
    expect(await peopleOfDays()).toEqual([null])
    await another().tick({ budgetMs: 1_000 })
    expect(await peopleOfDays()).toEqual([3])
  })

  it('are counted by the process that is faster', async () => {
    const { ask, pass, clock, another, storage, peopleOfDays } = await peopleScene()
    await ask('ann')
    await pass()
    await clock.advance(DAY + LATE)
    const { people } = storage.counts
    storage.counts.people = (query) => {
      storage.counts.people = people
      return mapped(people(query), async (page) => {
        await another().tick({ budgetMs: 1_000 })
        return page
      })
    }
    await pass()
    expect(await peopleOfDays()).toEqual([1])
  })
})
