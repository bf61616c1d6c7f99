import { PassThrough, Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { readLines } from './lines.js'

/** Reads a stream of separate pieces. A PassThrough would join them. */
async function linesOf(
  pieces: readonly (string | Buffer)[],
  maxBytes = 100,
): Promise<[string, boolean][]> {
  const stream = Readable.from(pieces.map((piece) => Buffer.from(piece)))
  const lines: [string, boolean][] = []
  await readLines(stream, maxBytes, (line, isCut) => lines.push([line, isCut]))
  return lines
}

it.each([
  ['whole lines', ['a\nb\n'], ['a', 'b']],
  ['a line in pieces', ['a', 'b', 'c\n'], ['abc']],
  ['a character in pieces', [Buffer.from([0xc3]), Buffer.from([0xa9, 0x0a])], ['é']],
  ['empty lines', ['\n\na\n'], ['', '', 'a']],
  ['Windows line ends', ['a\r\nb\r\n'], ['a', 'b']],
  ['a last line without a newline', ['a\nb'], ['a', 'b']],
  ['bytes that are not text', [Buffer.from([0xff, 0x0a])], ['\ufffd']],
  ['a line of many small pieces', [...Array<string>(2_500).fill('x'), '\n'], ['x'.repeat(2_500)]],
])('readLines reads %s', async (_, pieces, lines) => {
  expect(await linesOf(pieces, 10_000)).toEqual(lines.map((line) => [line, false]))
})

it('readLines cuts a line that is too long and continues with the next', async () => {
  expect(await linesOf(['1234', '56789', '0\nab', 'cd\nabcde\n', 'éé\n'], 4)).toEqual([
    ['1234', true],
    ['abcd', false],
    ['abcd', true],
    ['éé', false],
  ])
})

it('readLines pauses in an endless stream, and ends when the stream is destroyed', async () => {
  const stream = new PassThrough()
  let lines = 0
  const reading = readLines(stream, 100, () => (lines += 1))
  stream.write('spam\n'.repeat(100_000))
  await delay(1)
  expect(lines).toBe(1_000)
  stream.destroy()
  await reading
  expect(lines).toBe(1_000)
})

it('readLines reads a stream that has already ended', async () => {
  const stream = new PassThrough()
  let lines = 0
  const reading = readLines(stream, 100, () => (lines += 1))
  stream.end('spam\n'.repeat(5_000))
  await reading
  expect(lines).toBe(5_000)
})

it('readLines rejects with an error of onLine', async () => {
  const stream = new PassThrough().end('a\n')
  const reading = readLines(stream, 100, () => {
    throw new Error('the log is full')
  })
  await expect(reading).rejects.toThrow('the log is full')
})
