import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { PartEvent } from '../../domain/messages/part.js'
import { LiveAnswer, LOG_START, logged, type LogEntry } from './live-answer.js'
import { LiveAnswers } from './live-answers.js'

const answerOf = (emitted: readonly (string | PartEvent)[], maxLength = 1_000) => {
  const answer = new LiveAnswer(maxLength)
  for (const one of emitted) answer.append(logged(one))
  return answer
}
const at = (offset: number) => ({ offset, text: offset, parts: 0 })
const step: PartEvent = { type: 'start-step' }
const data = (value: string): PartEvent => ({ type: 'data', name: 'n', data: value })
const LENGTH = logged(step).length

/** The texts and parts behind a place. */
function entriesOf(answer: LiveAnswer, from = LOG_START) {
  const entries: LogEntry[] = []
  for (let entry = answer.entryFrom(from); entry; entry = answer.entryFrom(entry.to))
    entries.push(entry)
  return entries
}
const shortOf = (entries: readonly LogEntry[]) =>
  entries.map((entry) => ('text' in entry ? entry.text : entry.part))

it('gives the text behind an offset as one piece, even if it came in several chunks', () => {
  const answer = answerOf(['Hel', 'lo', '!'])
  expect(answer.entryFrom(LOG_START)).toEqual({ from: LOG_START, to: at(6), text: 'Hello!' })
  expect(answer.entryFrom(at(4))).toEqual({ from: at(4), to: at(6), text: 'o!' })
  expect(answer.entryFrom(at(6))).toBeUndefined()
})

it('splits a long answer into pieces of 16 Ki characters', () => {
  const answer = answerOf(['x'.repeat(40_000)], 40_000)
  expect(entriesOf(answer).map(({ from, to }) => to.text - from.text)).toEqual([
    16_384, 16_384, 7_232,
  ])
})

it('keeps the end of an answer that is too long, and shows the gap in the offset', () => {
  const answer = answerOf(['0123456789', 'abcdefghij', 'K'], 10)
  expect(answer.entryFrom(LOG_START)).toEqual({ from: at(11), to: at(21), text: 'bcdefghijK' })
  expect(answer.entryFrom(at(20))).toEqual({ from: at(20), to: at(21), text: 'K' })
})

it('never tears a surrogate pair', () => {
  const answer = answerOf(['a\ud83d'])
  expect(answer.entryFrom(LOG_START)).toMatchObject({ text: 'a' })
  expect(answer.entryFrom(at(1))).toBeUndefined()
  answer.append('\ude00b')
  expect(answer.entryFrom(at(1))).toMatchObject({ text: '😀b' })
})

it('gives text and parts in one order, and counts both', () => {
  const answer = answerOf(['a', 'b', step, 'c', data('\0 }'), step])
  expect(shortOf(entriesOf(answer))).toEqual(['ab', step, 'c', data('\0 }'), step])
  expect(entriesOf(answer).map(({ from }) => from)).toMatchObject([
    { offset: 0, text: 0, parts: 0 },
    { offset: 2, text: 2, parts: 0 },
    { offset: 2 + LENGTH, text: 2, parts: 1 },
    { offset: 3 + LENGTH, text: 3, parts: 1 },
    { text: 3, parts: 2 },
  ])
})

it('gives half of a surrogate pair beside a part as a replacement character', () => {
  expect(shortOf(entriesOf(answerOf(['a\ud83d', step, '\ude00b'])))).toEqual([
    'a\ufffd',
    step,
    '\ufffdb',
  ])
})

it('gives a part only when the part is whole', () => {
  const answer = new LiveAnswer(10)
  const frame = logged(data('x'.repeat(50)))
  answer.append(`ab${frame.slice(0, 30)}`)
  expect(shortOf(entriesOf(answer))).toEqual([]) // the text was cut off
  expect(answer.start).toEqual(at(2))
  answer.append(frame.slice(30))
  answer.append('c')
  expect(answer.start).toEqual({ offset: frame.length + 2, text: 2, parts: 1 })
  expect(shortOf(entriesOf(answer))).toEqual(['c'])
})

it('begins behind the part of which an offset names the middle', () => {
  const answer = answerOf(['ab', step, 'c'])
  const places = [0, 1, 2, 3, LENGTH + 1, LENGTH + 2, LENGTH + 3].map((n) => answer.placeAt(n))
  const behind = { offset: LENGTH + 2, text: 2, parts: 1 }
  const end = { offset: LENGTH + 3, text: 3, parts: 1 }
  expect(places).toEqual([at(0), at(1), at(2), behind, behind, behind, end])
})

const emitted = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 1 })))

it('whatever is emitted and however the log is cut, a copy has the same text and parts', () => {
  fc.assert(
    fc.property(emitted, fc.integer({ min: 2, max: 40 }), (all, cut) => {
      const events = all.map((one) =>
        typeof one === 'string'
          ? one.replaceAll('\0', '')
          : ({ type: 'data', name: 'n', data: one } as PartEvent),
      )
      const original = answerOf(events, 10_000)
      const copy = new LiveAnswer(10_000)
      const seen: LogEntry[] = []
      let place = LOG_START
      for (
        let piece = original.pieceFrom(0, cut);
        piece;
        piece = original.pieceFrom(copy.end, cut)
      ) {
        copy.append(piece.text)
        const more = entriesOf(copy, place)
        seen.push(...more)
        place = more.at(-1)?.to ?? place
      }
      const textsOf = (entries: readonly LogEntry[]) =>
        entries.map((entry) => ('text' in entry ? entry.text : '')).join('')
      const partsOf = (entries: readonly LogEntry[]) =>
        entries.flatMap((entry) => ('part' in entry ? { ...entry.part, at: entry.from } : []))
      expect(textsOf(seen)).toBe(textsOf(entriesOf(original)))
      expect(partsOf(seen)).toEqual(partsOf(entriesOf(original)))
    }),
  )
})

it('however often the log is shortened, each part and its place stay what they were', () => {
  const events = fc.array(fc.oneof(fc.string(), fc.constant(step)), { minLength: 1 })
  fc.assert(
    fc.property(events, fc.integer({ min: 1, max: 60 }), (all, maxLength) => {
      const texts = all.map((one) => (typeof one === 'string' ? one.replaceAll('\0', '') : one))
      const whole = entriesOf(answerOf(texts, 100_000)).filter((entry) => 'part' in entry)
      const short = entriesOf(answerOf(texts, maxLength)).filter((entry) => 'part' in entry)
      expect(short).toEqual(whole.slice(whole.length - short.length))
    }),
  )
})

it('all logs together stay within their bound: the longest ones lose their beginning', () => {
  const answers = new LiveAnswers({ bufferLength: 1_000, totalBufferLength: 1_000 })
  const short = answers.begin('short')
  const long = answers.begin('long')
  short.append('s'.repeat(100))
  for (let n = 0; n < 100; n++) {
    long.append('x'.repeat(10))
    expect(answers.length).toBe(short.length + long.length)
    expect(answers.length).toBeLessThanOrEqual(1_000)
  }
  expect(short.length).toBe(100)
  expect(long.start.offset).toBeGreaterThan(0)
  answers.forget('long')
  long.append('not counted')
  expect(answers.length).toBe(100)
  answers.begin('short')
  expect(answers.length).toBe(0)
})
