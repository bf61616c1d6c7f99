import { expect, it } from 'vitest'
import { isFinal, type Message } from '../domain/messages/message.js'
import type { Platform } from '../platform.js'
import { defaultPolicy } from '../policy.js'
import type { ResponseSignal } from '../ports/response-signal.js'
import { aMessage, anAgent, fakePlatform, mapped } from '@org/agent-messaging-testing'
import { localSignal } from './local-signal.js'
import { WaitingRoom } from './waiting-room.js'

const agent = anAgent()
const answered = (message: Message): Message => ({
  ...message,
  state: { kind: 'responded', response: 'hi', respondedAt: 1, responseTimeMs: 1 },
})

function roomWith(change: Partial<Platform> = {}) {
  const fakes = fakePlatform()
  const platform = { ...fakes, signal: localSignal(), policy: defaultPolicy, ...change }
  return { ...fakes, room: new WaitingRoom(platform as unknown as Platform) }
}

/**
 * Callers that wait for answers of another process. Its signal names the message without bringing
 * it.
 */
function waitingFor(messages: readonly Message[]) {
  const heard = new Map<string, () => void>()
  const signal: ResponseSignal = {
    notify: () => undefined,
    listen: (id, hear) => {
      heard.set(id, () => hear(undefined))
      return () => void heard.delete(id)
    },
  }
  const { room, clock, storage } = roomWith({ signal })
  const queries: string[][] = []
  const final = new Map<string, Message>()
  storage.messages.findSettled = (ids) => {
    queries.push([...ids])
    return mapped(storage.messages.find([]), () => ids.flatMap((id) => final.get(id) ?? []))
  }
  const waits = messages.map((message) => room.wait(message, clock.now() + 1_000))
  const answer = (message: Message): void => {
    final.set(message.id, answered(message))
    heard.get(message.id)?.()
  }
  return { queries, answer, waits }
}

it('one query fetches all answers that are notified together', async () => {
  const messages = Array.from({ length: 5 }, () => aMessage(agent))
  const [a, b, c, d, e] = messages as [Message, Message, Message, Message, Message]
  const { queries, answer, waits } = waitingFor(messages)
  for (const message of [a, b]) answer(message)
  await Promise.resolve()
  for (const message of [c, d, e]) answer(message) // during the first query
  const seen = await Promise.all(waits)
  expect(seen.every(({ state }) => isFinal(state))).toBe(true)
  expect(queries).toEqual([
    [a.id, b.id],
    [c.id, d.id, e.id],
  ])
})

it('a deadline that is not a number ends the wait at once', async () => {
  const { room, clock } = roomWith()
  const message = aMessage(agent)
  const waited = room.wait(message, clock.now() + Number.NaN)
  expect(room.size).toBe(0)
  expect(await waited).toBe(message)
})

it('a project without room blocks no other project, and has room again when a caller leaves', async () => {
  const { room, clock } = roomWith({ policy: { ...defaultPolicy, maxWaitingPerProject: 1 } })
  const enter = (waitMs: number, message = aMessage(agent)) => {
    let hasLeft = false
    void room.wait(message, clock.now() + waitMs).then(() => (hasLeft = true))
    return async () => {
      await clock.advance(0)
      return hasLeft
    }
  }
  const first = enter(1_000)
  const second = enter(1_000)
  const other = enter(1_000, aMessage(anAgent({ projectId: 'another' })))
  expect([await first(), await second(), await other()]).toEqual([false, true, false])
  await clock.advance(1_000)
  const third = enter(60_000)
  expect([await first(), await third()]).toEqual([true, false])
  room.dismiss(() => true)
  expect([await third(), await enter(1_000)()]).toEqual([true, false])
  await clock.advance(1_000)
})
