import { defaultPolicy } from '@org/agent-messaging-core'
import { errorIn } from '@org/agent-messaging-core/host'
import type { Stored } from '@org/agent-messaging-core/storage'
import { describe, expect, it } from 'vitest'
import { scene } from './scene.js'

/** A scene whose storage ends calls of a method only when the test says so. */
async function slowScene(method: 'accept' | 'list', maxWaiting = 5_000) {
  const sendQueue = { ...defaultPolicy.sendQueue, maxWaiting }
  const s = await scene({
    policy: { sendQueue },
    handler: () => ({ kind: 'answered', response: 'hi' }),
  })
  const other = await s.service.projects.create({ name: 'other' })
  const settings = { runtime: { kind: 'fake' }, desiredState: 'running' } as const
  await s.service.agents.create({ ...settings, projectId: other.id, name: 'bot' })
  await s.service.messages.send({ ...s.ref, sessionId: 'warm', message: 'hello' })
  const calls: string[] = []
  const ends: (() => void)[] = []
  const { messages } = s.storage
  const original = messages[method] as (...input: never[]) => Stored<unknown>
  const held = (...input: never[]) => {
    const [{ projectId }] = input as unknown as [{ projectId: string }]
    calls.push(projectId)
    const end = new Promise<void>((resolve) => ends.push(resolve))
    return end.then(() => original(...input))
  }
  Object.assign(messages, { [method]: held })
  const endAll = async () => {
    while (ends.length > 0) {
      ends.shift()?.()
      await s.clock.advance(0)
    }
  }
  return { ...s, other, calls, endAll }
}

const sendIn = ({ service }: Awaited<ReturnType<typeof slowScene>>, projectId: string, n: number) =>
  service.messages.send({
    ...{ projectId, agent: 'bot', sessionId: `s-${n}`, message: 'hello', waitMs: 0 },
  })

const settled = <T>(call: Promise<T>) => call.catch(errorIn)

describe('while one project sends more than the storage commits', () => {
  it('the send of another project is the next one', async () => {
    const s = await slowScene('accept')
    const flood = Array.from({ length: 200 }, (_, n) => sendIn(s, s.project.id, n))
    await s.clock.advance(0)
    const started = s.calls.length
    expect(started).toBeLessThan(100)
    const own = sendIn(s, s.other.id, 0)
    await s.endAll()
    expect(s.calls.indexOf(s.other.id) - started).toBeLessThan(2)
    expect(await Promise.all([...flood, own])).toHaveLength(201)
  })

  it('its own sends are refused if too many wait, and the other ones are not', async () => {
    const s = await slowScene('accept', 10)
    const flood = Array.from({ length: 200 }, (_, n) => settled(sendIn(s, s.project.id, n)))
    const own = Array.from({ length: 5 }, (_, n) => sendIn(s, s.other.id, n))
    await s.clock.advance(0)
    await s.endAll()
    expect(await Promise.all(own)).toHaveLength(5)
    const refused = (await Promise.all(flood)).filter((sent) => 'kind' in sent)
    expect(refused.length).toBeGreaterThan(100)
    expect(refused[0]).toEqual({
      kind: 'unavailable',
      reason: 'overload',
      retryInMs: expect.any(Number),
    })
  })

  it('a send that waits too long is refused, and nothing of it is stored', async () => {
    const s = await slowScene('accept')
    const flood = Array.from({ length: 200 }, (_, n) => settled(sendIn(s, s.project.id, n)))
    await s.clock.advance(defaultPolicy.sendQueue.maxWaitMs)
    await s.endAll()
    const sent = await Promise.all(flood)
    const stored = sent.filter((one) => !('kind' in one)).length
    expect(stored).toBeLessThan(100)
    expect(s.calls).toHaveLength(stored)
  })
})

it('while one project reads more than the storage answers, the read of another is the next one', async () => {
  const s = await slowScene('list')
  const list = (projectId: string) =>
    s.service.messages.list({ projectId, agent: 'bot', limit: 10 })
  const flood = Array.from({ length: 100 }, () => list(s.project.id))
  await s.clock.advance(0)
  const started = s.calls.length
  expect(started).toBeLessThan(20)
  const own = list(s.other.id)
  await s.endAll()
  expect(s.calls.indexOf(s.other.id) - started).toBeLessThan(2)
  expect(await Promise.all([...flood, own])).toHaveLength(101)
})

it('a read that waits for an answer keeps no other read waiting', async () => {
  const s = await scene()
  const { id: messageId } = await s.post()
  const waiting = Array.from({ length: 50 }, () =>
    s.service.messages.get({ ...s.ref, messageId, waitMs: 10_000 }),
  )
  await s.clock.advance(0)
  await s.service.messages.get({ ...s.ref, messageId })
  s.runtime.answer(messageId, 'hello')
  await s.clock.advance(0)
  expect(await Promise.all(waiting)).toHaveLength(50)
})
