import { defaultDispatchPolicy, type PrincipalTraces } from '@org/agent-messaging-core/host'
import type { Stored } from '@org/agent-messaging-core/storage'
import { refusalOf, mapped } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { scene as open } from './scene.js'

const endUser = (endUserId: string) => ({ executionPrincipal: { type: 'end_user', endUserId } })
const u = endUser('u')
const HI = { kind: 'answered', response: 'Hi' } as const
const ANSWERS = { handler: () => HI }

async function scene(...options: Parameters<typeof open>) {
  const scene = await open(...options)
  const { principals } = scene.service
  const input = { projectId: scene.project.id, endUserId: 'u' }
  type More = { readonly force?: boolean; readonly cursor?: string; readonly endUserId?: string }
  return {
    ...scene,
    count: async (more: More = {}) => principals.count({ ...input, ...more }),
    erase: async (more: More = {}) => principals.erase({ ...input, ...more }),
    /** Erases until no cursor is left, and returns the number of calls. */
    eraseAll: async () => {
      let [calls, cursor]: [number, string | null] = [0, null]
      do {
        const erased: PrincipalTraces = await principals.erase({
          ...input,
          ...(cursor !== null && { cursor }),
        })
        cursor = erased.nextCursor
        calls++
      } while (cursor !== null)
      return calls
    },
  }
}

describe('an end user', () => {
  it('is counted, and then erased from all agents with the deliveries of the answered, failed and cancelled messages', async () => {
    const { service, ref, project, clock, count, erase, send, post, hook, deliveries } =
      await scene({
        handler: ({ message }) => {
          if (message === 'fail') throw new Error('it broke')
          return message === 'wait' ? new Promise(() => undefined) : HI
        },
      })
    await hook()
    const another = {
      projectId: project.id,
      name: 'another',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    } as const
    await service.agents.create(another)
    await clock.advance(0)
    await send('hello', u)
    await send('hello', { ...endUser('v'), sessionId: 'v' })
    await send('hello', { ...u, agent: 'another' })
    await send('fail', { ...u, sessionId: 'fails' })
    const { id: messageId } = await post('wait', { ...u, sessionId: 'waits' })
    await service.messages.cancel({ ...ref, messageId })

    const found = { messages: 4, openMessages: 0, deliveries: 6, events: 0, nextCursor: null }
    expect(await count()).toEqual(found)
    expect(await erase()).toEqual(found)
    expect(await erase()).toEqual({
      messages: 0,
      openMessages: 0,
      deliveries: 0,
      events: 0,
      nextCursor: null,
    })
    const left = (await service.messages.list({ ...ref, limit: 9 })).data
    expect(left.map(({ sessionId }) => sessionId)).toEqual(['v'])
    expect(JSON.stringify(await deliveries())).not.toContain('"endUserId\\":\\"u')
  })

  it('keeps open messages, and with force aborts the run and runs the next message of the session', async () => {
    const { clock, runtime, count, erase, post, state } = await scene({
      policy: { runLeaseMs: 3_000 },
    })
    await post('mine', u)
    const { id } = await post('not mine', endUser('v'))
    await clock.until(() => runtime.openRuns.length === 1)
    const open = { messages: 0, openMessages: 1, deliveries: 0, events: 0, nextCursor: null }
    expect([await count(), await erase()]).toEqual([open, open])
    expect(await erase({ force: true })).toEqual({
      ...open,
      messages: 1,
      openMessages: 0,
    })
    await clock.until(() => runtime.requests.length === 2)
    expect((await state(id)).kind).toBe('running')
  })

  it('runs the message behind a message that was erased by force at once, without a poll', async () => {
    const dispatch = { ...defaultDispatchPolicy, backoffMs: [60_000] }
    const { clock, runtime, erase, post } = await scene({ policy: { dispatch } })
    const [mine, behind] = [await post('mine', u), await post('not mine', endUser('v'))]
    runtime.fail(mine.id, 'busy', { retryable: true })
    await clock.advance(100)
    expect(runtime.openRuns).toEqual([])
    await erase({ force: true })
    await clock.advance(0)
    expect(runtime.openRuns).toEqual([behind.id])
  })

  it('G6: does not end the wait of a caller in another project with an end user of the same name', async () => {
    const { erase, send, service, clock } = await scene()
    const { id: projectId } = await service.projects.create({ name: 'other' })
    const bot = {
      projectId,
      name: 'bot',
      runtime: { kind: 'fake' },
      desiredState: 'running',
    } as const
    await service.agents.create(bot)
    void send('theirs', { ...u, projectId })
    await clock.advance(100)
    await erase({ force: true })
    expect(service.host.load().waitingCallers).toBe(1)
    await clock.advance(60_000)
  })

  it('ends the waits for messages that were erased by force', async () => {
    const { clock, runtime, erase, send, service } = await scene()
    const waits = send('mine', u)
    for (const [more, sessionId] of [
      [endUser('v'), 'v'],
      [{}, 'w'],
    ] as const)
      void send('not mine', { ...more, sessionId })
    await clock.until(() => runtime.openRuns.length === 3)
    await erase({ force: true })
    expect((await waits).message.state.kind).toBe('running')
    expect(service.host.load().waitingCallers).toBe(2)
  })

  it('can send again after the erasure', async () => {
    const { erase, count, send } = await scene(ANSWERS)
    await send('first', { ...u, idempotencyKey: 'k' })
    await erase()
    const again = await send('second', { ...u, idempotencyKey: 'k' })
    expect(again.message.message).toBe('second')
    expect((await count()).messages).toBe(1)
  })

  it('is erased in bounded calls, each of which continues where the call before it ended', async () => {
    const { storage, bot, project, eraseAll } = await scene()
    const [messages, deliveries, events] = [countdown(220), countdown(170), countdown(130)]
    Object.assign(storage.messages, {
      erasePrincipal: messages.step(storage.messages.erasePrincipal),
    })
    Object.assign(storage.deliveries, {
      erasePrincipal: deliveries.step(storage.deliveries.erasePrincipal),
    })
    Object.assign(storage.events, {
      erasePrincipal: events.step(storage.events.erasePrincipal),
    })
    // 1 agent, 220 steps, no more agents, 170 steps, 130 steps: 100 per call
    expect(await eraseAll()).toBe(6)
    expect(messages.places).toEqual(Array.from({ length: 220 }, (_, n) => n))
    expect(deliveries.places).toEqual(Array.from({ length: 170 }, (_, n) => n))
    expect(events.places).toEqual(Array.from({ length: 130 }, (_, n) => n))
    expect(messages.last).toMatchObject({ agentId: bot.id, projectId: project.id, limit: 100 })
  })

  it('accepts a cursor between two agents, and one at the beginning', async () => {
    const { bot, count, send } = await scene(ANSWERS)
    await send('hello', u)
    expect((await count({ cursor: '.' })).messages).toBe(1)
    expect((await count({ cursor: `${bot.id}.` })).messages).toBe(0)
    expect((await count({ cursor: `${bot.id}.0` })).messages).toBe(1)
    expect((await count({ cursor: 'events.' })).messages).toBe(0)
  })

  it('can end a call between two agents', async () => {
    const { storage, bot, erase } = await scene()
    Object.assign(storage.messages, {
      erasePrincipal: countdown(99).step(storage.messages.erasePrincipal),
    })
    expect((await erase()).nextCursor).toBe(`${bot.id}.`)
  })

  it('is refused without an id, with an invalid id, and with a cursor of another list', async () => {
    const { erase, count } = await scene()
    for (const endUserId of ['', 'x'.repeat(257), 'a\0b']) {
      expect(await refusalOf(erase({ endUserId }))).toMatchObject({
        kind: 'invalid',
        issues: [{ path: 'endUserId' }],
      })
    }
    for (const cursor of ['', 'x', '1', 'x.1', '.1e9']) {
      expect(await refusalOf(count({ cursor }))).toMatchObject({
        kind: 'invalid',
        issues: [{ path: 'cursor' }],
      })
    }
  })

  it('is partly erased, with an error, when the storage fails half-way, and a repeated call erases the rest', async () => {
    const { storage, erase, eraseAll, count, send, hook } = await scene(ANSWERS)
    await hook()
    await send('hello', u)
    const { erasePrincipal } = storage.deliveries
    Object.assign(storage.deliveries, {
      erasePrincipal: (step: Parameters<typeof erasePrincipal>[0]) => {
        if (!step.countOnly) storage.fail('deliveries.erasePrincipal')
        return erasePrincipal(step)
      },
    })
    expect(await refusalOf(erase())).toMatchObject({ kind: 'unavailable' })
    expect(await count()).toMatchObject({ messages: 0, deliveries: 1 })
    Object.assign(storage.deliveries, { erasePrincipal })
    await eraseAll()
    expect(await count()).toMatchObject({ messages: 0, deliveries: 0 })
  })
})

/** A store that takes the given number of steps, one row each. Remembers the ones that erase. */
function countdown(steps: number) {
  const seen = { places: [] as number[], last: {} as object }
  return {
    get places() {
      return seen.places
    },
    get last() {
      return seen.last
    },
    step:
      <Step extends { readonly after: number; readonly countOnly: boolean }>(
        erase: (step: Step) => Stored<object>,
      ) =>
      (step: Step) => {
        if (!step.countOnly) seen.places.push(step.after)
        seen.last = step
        return mapped(erase(step), (found) => ({
          ...found,
          ...(step.after < steps - 1 && { next: step.after + 1 }),
        }))
      },
  }
}
