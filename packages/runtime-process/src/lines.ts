import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** Receives a line without its end, or only its start if it exceeds the limit (`isCut`). */
export type OnLine = (line: string, isCut: boolean) => void

const NEWLINE = 0x0a
/** Pieces of a line are joined regularly, because each costs far more than its bytes. */
const MAX_PIECES = 1_000

/**
 * Reading pauses regularly, so that a program that prints endlessly does not block this process.
 * The pipe fills, and the program waits.
 */
const LINES_PER_PAUSE = 1_000
const BYTES_PER_LINE = 16 * 1024
const PAUSE_MS = 50

/**
 * Calls `onLine` for each line of a UTF-8 stream, including an unfinished last line. Resolves when
 * the stream ends or is destroyed. Keeps at most `maxBytes` of a line. Yields no lone surrogates.
 */
export async function readLines(stream: Readable, maxBytes: number, onLine: OnLine): Promise<void> {
  const line = new LineBuffer(maxBytes, onLine)
  let linesSincePause = 0

  async function pauseAfter(lines: number) {
    linesSincePause += lines
    if (linesSincePause < LINES_PER_PAUSE) return
    linesSincePause = 0
    await delay(PAUSE_MS)
  }

  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        line.append(chunk.subarray(start, end))
        line.end()
        start = end + 1
        await pauseAfter(1)
        if (stream.destroyed && !stream.readableEnded) return
      }
      line.append(chunk.subarray(start))
      await pauseAfter(chunk.length / BYTES_PER_LINE)
    }
    if (!line.isEmpty) line.end()
  } catch (error) {
    if (!isEndOf(stream, error)) throw error
  }
}

/** The bytes of the current line, up to a limit. */
class LineBuffer {
  readonly #maxBytes: number
  readonly #onLine: OnLine
  #pieces: Buffer[] = []
  #kept = 0
  #length = 0

  constructor(maxBytes: number, onLine: OnLine) {
    this.#maxBytes = maxBytes
    this.#onLine = onLine
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  append(piece: Buffer): void {
    this.#length += piece.length
    const part = piece.subarray(0, this.#maxBytes - this.#kept)
    if (part.length === 0) return
    this.#kept += part.length
    this.#pieces.push(part)
    if (this.#pieces.length > MAX_PIECES) this.#pieces = [Buffer.concat(this.#pieces)]
  }

  end(): void {
    const line = Buffer.concat(this.#pieces).toString('utf8')
    const isCut = this.#length > this.#kept
    this.#pieces = []
    this.#kept = 0
    this.#length = 0
    this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line, isCut)
  }
}

const isEndOf = (stream: Readable, error: unknown) =>
  error === stream.errored ||
  (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')
