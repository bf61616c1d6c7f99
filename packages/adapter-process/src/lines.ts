import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** A line as text, without its end; `isCut` when it was longer than the cap, and this is only its start. */
export type OnLine = (line: string, isCut: boolean) => void

const NEWLINE = 0x0a
/** Many small pieces of one line are joined now and then: each would cost far more than its bytes. */
const MAX_PIECES = 1_000

/**
 * A program that prints without end must not have this process to itself: after 1,000 lines, or 16 MiB, nothing is read for
 * 50 ms. The pipe fills, and the program waits.
 */
const LINES_PER_TURN = 1_000
const BYTES_PER_LINE = 16 * 1024
const REST_MS = 50

/**
 * Calls `onLine` for each line of a stream of UTF-8, and for what stands behind the last newline when it ends; resolves then, or
 * when the stream is destroyed. Of one line no more than `maxBytes` are ever kept, so a flood without a newline costs no memory.
 * Never gives a lone surrogate.
 */
export async function readLines(stream: Readable, maxBytes: number, onLine: OnLine): Promise<void> {
  let pieces: Buffer[] = []
  let kept = 0
  let length = 0
  let turn = 0

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

  async function spend(lines: number): Promise<void> {
    turn += lines
    if (turn < LINES_PER_TURN) return
    turn = 0
    await delay(REST_MS)
  }

  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        keep(chunk.subarray(start, end))
        endLine()
        start = end + 1
        await spend(1)
        if (stream.destroyed && !stream.readableEnded) return
      }
      keep(chunk.subarray(start))
      await spend(chunk.length / BYTES_PER_LINE)
    }
    if (length > 0) endLine()
  } catch (error) {
    if (!isEndOf(stream, error)) throw error
  }
}

const isEndOf = (stream: Readable, error: unknown): boolean =>
  error === stream.errored ||
  (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')
