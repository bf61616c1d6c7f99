import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { readLines } from './lines.js'

/** The lines of a stream that comes in these pieces. */
async function linesOf(pieces: readonly (string | Buffer)[], maxBytes = 100): Promise<[string, boolean][]> {
  const stream = new PassThrough()
  const lines: [string, boolean][] = []
  readLines(stream, maxBytes, (line, isCut) => lines.push([line, isCut]))
  const ended = new Promise((resolve) => stream.on('end', resolve))
  for (const piece of pieces) stream.write(piece)
  stream.end()
  await ended
  return lines
}

it.each([
  ['whole ones', ['a\nb\n'], ['a', 'b']],
  ['one in pieces', ['a', 'b', 'c\n'], ['abc']],
  ['a character in pieces', [Buffer.from([0xc3]), Buffer.from([0xa9, 0x0a])], ['é']],
  ['empty ones', ['\n\na\n'], ['', '', 'a']],
  ['ends as Windows writes them', ['a\r\nb\r\n'], ['a', 'b']],
  ['what no newline follows', ['a\nb'], ['a', 'b']],
  ['bytes that are no text', [Buffer.from([0xff, 0x0a])], ['\ufffd']],
  ['a line of many small pieces', [...Array<string>(2_500).fill('x'), '\n'], ['x'.repeat(2_500)]],
])('reads %s', async (_, pieces, lines) => {
  expect(await linesOf(pieces, 10_000)).toEqual(lines.map((line) => [line, false]))
})

it('keeps the start of a line that is too long, says so, and goes on with the next', async () => {
  expect(await linesOf(['1234', '56789', '0\nab', 'cd\nabcde\n', 'éé\n'], 4)).toEqual([
    ['1234', true],
    ['abcd', false],
    ['abcd', true],
    ['éé', false],
  ])
})
