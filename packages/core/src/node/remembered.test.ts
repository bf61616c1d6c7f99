import { expect, it, onTestFinished, vi } from 'vitest'
import { remembered } from './remembered.js'

/** The questions and the answers: of everything but `nothing`, two texts joined. */
function asked() {
  const questions: string[] = []
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const ask = remembered((what: string, of) => {
    questions.push(what)
    return what === 'nothing' ? undefined : `${what} of ${of}`
  })
  return { ask, questions }
}

it('asks once, and again for another context', () => {
  const { ask, questions } = asked()
  expect([ask('a', 'x'), ask('a', 'x'), ask('a', 'y')]).toEqual(['a of x', 'a of x', 'a of y'])
  expect(questions).toEqual(['a', 'a'])
})

it('asks again where there was no answer', () => {
  const { ask, questions } = asked()
  expect([ask('nothing', 'x'), ask('nothing', 'x')]).toEqual([undefined, undefined])
  expect(questions).toHaveLength(2)
})

it('forgets what is not asked for any more, by time and by number', () => {
  const { ask, questions } = asked()
  ask('a', 'x')
  vi.advanceTimersByTime(60_000)
  ask('a', 'x')
  vi.advanceTimersByTime(60_000)
  ask('a', 'x')
  expect(questions).toEqual(['a'])
  vi.advanceTimersByTime(120_000)
  ask('a', 'x')
  expect(questions).toEqual(['a', 'a'])
  for (let n = 0; n < 2_000; n++) ask(String(n), 'x')
  ask('a', 'x')
  expect(questions).toHaveLength(2_003)
})

it('remembers no longer when the clock is set back', () => {
  const { ask, questions } = asked()
  vi.setSystemTime(Date.now() + 3_600_000)
  ask('a', 'x')
  vi.setSystemTime(Date.now() - 3_600_000)
  ask('b', 'x')
  vi.advanceTimersByTime(120_000)
  ask('a', 'x')
  expect(questions).toEqual(['a', 'b', 'a'])
})
