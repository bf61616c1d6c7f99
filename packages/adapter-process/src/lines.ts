import type { Readable } from 'node:stream'

/** A line as text, without its end; `isCut` when it was longer than the cap, and this is only its start. */
export type OnLine = (line: string, isCut: boolean) => void

const NEWLINE = 0x0a
/** Many small pieces of one line are joined now and then: each would cost far more than its bytes. */
const MAX_PIECES = 1_000

/**
 * Calls `onLine` for each line of a stream of UTF-8, and for what stands behind the last newline when it ends. Of one line
 * no more than `maxBytes` are ever kept, so a flood without a newline costs nothing. Never gives a lone surrogate.
 */
export function readLines(stream: Readable, maxBytes: number, onLine: OnLine): void {
  let pieces: Buffer[] = []
  let kept = 0
  let length = 0

  function keep(piece: Buffer): void {
    length += piece.length
    const part = piece.subarray(0, maxBytes - kept)
    if (part.length === 0) return
    kept += part.length
    pieces.push(part)
    if (pieces.length > MAX_PIECES) pieces = [Buffer.concat(pieces)]
  }

  function endLine(): void {
    const line = Buffer.concat(pieces).toString('utf8')
    const isCut = length > kept
    pieces = []
    kept = length = 0
    onLine(line.endsWith('\r') ? line.slice(0, -1) : line, isCut)
  }

  stream.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      keep(chunk.subarray(start, end))
      endLine()
      start = end + 1
    }
    keep(chunk.subarray(start))
  })
  stream.on('end', () => {
    if (length > 0) endLine()
  })
}
