import { describe, expect, it } from 'vitest'
import { newestThatFit, turnsOf, type Turn } from './history.js'

const turn = (messageId: string, length = 10): Turn => ({
  ...{ messageId, message: 'm'.repeat(length - 1), response: 'r' },
  executionPrincipal: { type: 'service' },
})
const newestFirst = [turn('3'), turn('2'), turn('1')]
const fitting = (maxTurns: number, maxLength: number, turns = newestFirst) =>
  newestThatFit(turns, { maxTurns, maxLength }).map(({ messageId }) => messageId)

describe('the history that a run is handed', () => {
  it('is everything, oldest first, when it fits', () => {
    expect(fitting(3, 30)).toEqual(['1', '2', '3'])
    expect(fitting(Infinity, Infinity)).toEqual(['1', '2', '3'])
    expect(fitting(9, 99, [])).toEqual([])
  })
  it('is the newest turns when there are more than are wanted', () => {
    expect(fitting(2, 99)).toEqual(['2', '3'])
    expect(fitting(0, 99)).toEqual([])
  })
  it('is the newest turns when all would be too long', () => {
    expect(fitting(9, 29)).toEqual(['2', '3'])
    expect(fitting(9, 9)).toEqual([])
  })
  it('has no gap: behind a turn that is too long there are shorter ones, which do not count', () => {
    expect(fitting(9, 25, [turn('3'), turn('2', 20), turn('1')])).toEqual(['3'])
  })
  it('reads no further than it has to', () => {
    let read = 0
    const counting = function* () {
      for (;;) yield turn(String(++read))
    }
    newestThatFit(counting(), { maxTurns: 2, maxLength: 99 })
    expect(read).toBe(2)
  })
})

describe('the turns of a past message', () => {
  const { response: _, ...past } = turn('1')
  const earlierTurns = [
    { message: 'a', response: 'b' },
    { message: 'c', response: 'd' },
  ]
  const textsOf = (...turns: Parameters<typeof turnsOf>) =>
    [...turnsOf(...turns)].map(({ messageId, response }) => `${messageId} ${response}`)

  it('are the message and then the turns that came with it, newest first', () => {
    expect(textsOf({ ...past, response: 'r', earlierTurns })).toEqual(['1 r', '1 d', '1 b'])
  })
  it('are only the turns that came with a message without an answer', () => {
    expect(textsOf({ ...past, response: null, earlierTurns })).toEqual(['1 d', '1 b'])
    expect(textsOf({ ...past, response: null })).toEqual([])
  })
})
