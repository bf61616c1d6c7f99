import { expect, it } from 'vitest'
import { LiveAnswer } from './live-answer.js'

const answerOf = (chunks: readonly string[], maxLength = 1_000) => {
  const answer = new LiveAnswer(maxLength)
  for (const chunk of chunks) answer.append(chunk)
  return answer
}

it('gives the text behind an offset as one piece, even if it came in several chunks', () => {
  const answer = answerOf(['Hel', 'lo', '!'])
  expect(answer.pieceFrom(0)).toEqual({ offset: 0, text: 'Hello!' })
  expect(answer.pieceFrom(4)).toEqual({ offset: 4, text: 'o!' })
  expect(answer.pieceFrom(6)).toBeUndefined()
})

it('splits a long answer into pieces of 16 Ki characters', () => {
  const answer = answerOf(['x'.repeat(40_000)], 40_000)
  const sizes = []
  for (
    let piece = answer.pieceFrom(0);
    piece;
    piece = answer.pieceFrom(piece.offset + piece.text.length)
  )
    sizes.push(piece.text.length)
  expect(sizes).toEqual([16_384, 16_384, 7_232])
})

it('keeps the end of an answer that is too long, and shows the gap in the offset', () => {
  const answer = answerOf(['0123456789', 'abcdefghij', 'K'], 10)
  expect(answer.pieceFrom(0)).toEqual({ offset: 11, text: 'bcdefghijK' })
  expect(answer.pieceFrom(20)).toEqual({ offset: 20, text: 'K' })
})

it('never tears a surrogate pair', () => {
  const answer = answerOf(['a\ud83d'])
  expect(answer.pieceFrom(0)).toEqual({ offset: 0, text: 'a' })
  expect(answer.pieceFrom(1)).toBeUndefined()
  answer.append('\ude00b')
  expect(answer.pieceFrom(1)).toEqual({ offset: 1, text: '😀b' })
})
