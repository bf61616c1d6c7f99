import { expect, it } from 'vitest'
import { createLiveAnswer } from './live-answer.js'

const answerOf = (chunks: readonly string[], maxLength = 1_000) => {
  const answer = createLiveAnswer(maxLength)
  for (const chunk of chunks) answer.append(chunk)
  return answer
}

it('gives what follows an offset, in one piece however it came', () => {
  const answer = answerOf(['Hel', 'lo', '!'])
  expect(answer.pieceFrom(0)).toEqual({ offset: 0, text: 'Hello!' })
  expect(answer.pieceFrom(4)).toEqual({ offset: 4, text: 'o!' })
  expect(answer.pieceFrom(6)).toBeUndefined()
})

it('gives a long answer in pieces of a bounded size', () => {
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

it('keeps the end of what does not fit, and shows by the offset that something is gone', () => {
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
