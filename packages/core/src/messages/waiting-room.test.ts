import { expect, it } from 'vitest'
import { isFinal, type Message } from '../domain/message.js'
import { aMessage, anAgent } from '../testing/builders.js'
import { fakePlatform } from '../testing/fake-platform.js'
import type { ResponseSignal } from '../ports/response-signal.js'
import { defaultPolicy } from '../policy.js'
import { localSignal } from './local-signal.js'
import { createWaitingRoom } from './waiting-room.js'

const agent = anAgent()
const answered = (message: Message): Message => ({
  ...message,
  state: { kind: 'responded', response: 'hi', respondedAt: 1, responseTimeMs: 1 },
})

/** A room whose answers come from another process, which says no more than whose they are. `looks`: what was asked for, each time. */
function room(messages: readonly Message[]) {
  const platform = fakePlatform()
  const heard = new Map<string, () => void>()
  const signal: ResponseSignal = {
    notify: () => undefined,
    listen: (id, hear) => (heard.set(id, () => hear(undefined)), () => void heard.delete(id)),
  }
  const looks: string[][] = []
  const final = new Map<string, Message>()
  const { storage } = platform
  storage.messages.findFinal = (ids) => {
    looks.push([...ids])
    return storage.messages.find([]).map(() => ids.flatMap((id) => final.get(id) ?? []))
  }
  const { wait } = createWaitingRoom({ ...platform, signal, policy: defaultPolicy })
  const waits = messages.map((message) => wait(message, platform.clock.now() + 1_000))
  const answer = (message: Message): void => {
    final.set(message.id, answered(message))
    heard.get(message.id)?.()
  }
  return { looks, answer, waits }
}

it('looks once for all whose answers are told of together, and once more for those told of meanwhile', async () => {
  const messages = Array.from({ length: 5 }, () => aMessage(agent))
  const [a, b, c, d, e] = messages as [Message, Message, Message, Message, Message]
  const { looks, answer, waits } = room(messages)
  for (const message of [a, b]) answer(message)
  await Promise.resolve()
  for (const message of [c, d, e]) answer(message)
  const seen = await Promise.all(waits)
  expect(seen.every(({ state }) => isFinal(state))).toBe(true)
  expect(looks).toEqual([
    [a.id, b.id],
    [c.id, d.id, e.id],
  ])
})

it('keeps nobody whose wait is no number: there would be no end to it', async () => {
  const platform = fakePlatform()
  const message = aMessage(agent)
  const waitingRoom = createWaitingRoom({
    ...platform,
    signal: localSignal(),
    policy: defaultPolicy,
  })
  const waited = waitingRoom.wait(message, platform.clock.now() + Number.NaN)
  expect(waitingRoom.size).toBe(0)
  expect(await waited).toBe(message)
})

it('has room again for as many of a project as leave, and for other projects all along', async () => {
  const { clock, storage } = fakePlatform()
  const policy = { ...defaultPolicy, maxWaitingPerProject: 1 }
  const { wait, dismiss } = createWaitingRoom({ clock, storage, signal: localSignal(), policy })
  const enter = (waitMs: number, message = aMessage(agent)) => {
    let isGone = false
    void wait(message, clock.now() + waitMs).then(() => (isGone = true))
    return async () => (await clock.advance(0), isGone)
  }
  const first = enter(1_000)
  const [full, stranger] = [enter(1_000), enter(1_000, aMessage(anAgent({ projectId: 'another' })))]
  expect([await first(), await full(), await stranger()]).toEqual([false, true, false])
  await clock.advance(1_000)
  const second = enter(60_000)
  expect([await first(), await second()]).toEqual([true, false])
  dismiss(() => true)
  expect([await second(), await enter(1_000)()]).toEqual([true, false])
  await clock.advance(1_000)
})
