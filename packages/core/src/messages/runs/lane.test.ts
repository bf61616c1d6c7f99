import { expect, it } from 'vitest'
import { anAgent } from '@org/agent-messaging-testing'
import { freeSlots, Lane } from './lane.js'
import type { Run } from './run.js'

it.each([
  ['all slots of an empty lane', { runs: 0, recording: 0, reserved: 0 }, 4],
  ['no slot of a run', { runs: 3, recording: 0, reserved: 0 }, 1],
  ['no reserved slot', { runs: 1, recording: 0, reserved: 2 }, 1],
  ['the slot of a run whose agent has ended', { runs: 4, recording: 1, reserved: 0 }, 1],
  ['the slots of `concurrency` outcomes', { runs: 4, recording: 4, reserved: 0 }, 4],
  ['no slot of an outcome beyond that', { runs: 6, recording: 6, reserved: 0 }, 2],
  ['no slot when `concurrency` was lowered', { runs: 9, recording: 0, reserved: 0 }, 0],
])('a lane with a concurrency of 4 gives out %s', (_, load, free) => {
  expect(freeSlots({ concurrency: 4, ...load })).toBe(free)
})

let runs = 0
const runOf = (sessionId: string): Run => {
  const reasons: string[] = []
  const abort = (reason: string): number => reasons.push(reason)
  return { number: ++runs, sessionId, reasons, abort, ended: Promise.resolve() } as unknown as Run
}
const laneOf = (concurrency: number): Lane => {
  const agent = anAgent({ concurrency })
  return new Lane(agent, { run: () => Promise.reject(new Error('not used')) })
}

it('a session gets one slot at a time for its sends', () => {
  const lane = laneOf(3)
  expect([lane.reserve('a'), lane.reserve('a'), lane.reserve('b')]).toEqual([true, false, true])
  lane.sent('a')
  expect([lane.reserve('a'), lane.free]).toEqual([true, 0])
})

it('a claim gets all free slots of a small lane', () => {
  const lane = laneOf(3)
  lane.reserve('a')
  expect([lane.reserveForClaim(true), lane.free, lane.isStarved]).toEqual([2, 0, false])
  expect([lane.reserveForClaim(true), lane.isStarved]).toEqual([0, true])
})

it('a claim leaves half of the free slots to sends, unless a message can be due', () => {
  const lane = laneOf(16)
  expect([lane.reserveForClaim(true), lane.reserve('a'), lane.free]).toEqual([8, true, 7])
  lane.isStarved = true
  expect([lane.reserveForClaim(true), lane.free]).toEqual([7, 0])
  expect(laneOf(16).reserveForClaim(false)).toBe(16)
})

it('a released slot asks for a new claim only if a message found none', () => {
  const lane = laneOf(1)
  lane.reserve('a')
  expect(lane.release(1)).toBe(false)
  lane.reserve('b')
  expect([lane.hasRoom(), lane.release(1), lane.hasRoom()]).toEqual([false, true, true])
})

it('a closed lane gives out no slots until it opens again', () => {
  const lane = laneOf(2)
  lane.close()
  expect([lane.free, lane.reserve('a'), lane.reserveForClaim(true)]).toEqual([0, false, 0])
  lane.open(anAgent({ concurrency: 5 }), lane.running)
  expect(lane.free).toBe(5)
})

it('a lane is idle when its last run has ended and its last slot is released', async () => {
  const lane = laneOf(2)
  const run = runOf('a')
  let isIdle = false
  lane.reserve('a')
  lane.reserve('b')
  void lane.idle().then(() => (isIdle = true))
  lane.add(run)
  lane.release(1)
  lane.agentEnded()
  await Promise.resolve()
  expect([isIdle, lane.isIdle]).toEqual([false, false])
  lane.remove(run)
  await Promise.resolve()
  expect([isIdle, lane.isIdle]).toEqual([true, true])
})

it('a new run aborts the runs of its session and no others', () => {
  const lane = laneOf(3)
  const runs = [runOf('a'), runOf('b')]
  for (const run of runs) lane.add(run)
  expect(lane.abortSession('a')).toHaveLength(1)
  expect(runs).toMatchObject([{ reasons: ['lost'] }, { reasons: [] }])
})
