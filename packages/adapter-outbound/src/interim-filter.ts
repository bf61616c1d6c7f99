import type { Socket } from 'node:net'

const HEAD_END = '\r\n\r\n'
/** `HTTP/1.1 100` */
const STATUS_LINE_LENGTH = 12
const INTERIM = /^HTTP\/1\.\d 1\d\d/

const EARLY_HINTS = Buffer.from(`HTTP/1.1 103 Early Hints${HEAD_END}`)

/**
 * Shows undici each `100 Continue` as `103 Early Hints`. undici treats a 100 as an error because it
 * never asks for one, but some proxies and servers send it unasked (RFC 9110 §15.2).
 *
 * undici takes bytes only from `socket.read`. The filter holds an interim head back until it is
 * complete, and passes on everything from the final head on.
 */
export class InterimFilter {
  readonly #maxHeadBytes: number
  #state: 'interim' | 'final' = 'interim'
  /** The beginning of a head. */
  #held: Buffer | undefined

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes
  }

  /** A request begins, and with it the heads of its response. */
  expectResponse(): void {
    this.#state = 'interim'
  }

  /** Filters what the socket's reader gets. */
  filter(socket: Socket): void {
    this.#held = undefined
    const read = socket.read.bind(socket)
    socket.read = (size?: number) => {
      if (size !== undefined) return read(size) as unknown
      for (;;) {
        const chunk = read() as Buffer | null
        const passed = chunk && this.#pass(chunk)
        // The reader stops at null, so it gets null only if the socket has no more bytes.
        if (!passed || passed.length > 0) return passed
      }
    }
  }

  /** Returns the bytes that are ready. */
  #pass(chunk: Buffer): Buffer {
    if (this.#state === 'final') return chunk
    const bytes = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    this.#held = undefined
    const ready: Buffer[] = []
    let rest = bytes
    for (let end = interimEnd(rest); end > 0; end = interimEnd(rest)) {
      ready.push(statusLine(rest).endsWith('100') ? EARLY_HINTS : rest.subarray(0, end))
      rest = rest.subarray(end)
    }
    if (canBeInterim(rest) && rest.length < this.#maxHeadBytes) this.#held = rest
    else {
      this.#state = 'final'
      ready.push(rest)
    }
    return ready.length === 1 && ready[0] ? ready[0] : Buffer.concat(ready)
  }
}

/** Returns the end of a complete interim head at the beginning of the bytes, or 0. */
function interimEnd(bytes: Buffer) {
  if (!INTERIM.test(statusLine(bytes))) return 0
  const end = bytes.indexOf(HEAD_END)
  return end < 0 ? 0 : end + HEAD_END.length
}

/** True for the beginning of an interim head, and for fewer bytes than a status line has. */
const canBeInterim = (bytes: Buffer) =>
  INTERIM.test(statusLine(bytes).concat('HTTP/1.1 100'.slice(bytes.length)))

const statusLine = (bytes: Buffer) => bytes.toString('latin1', 0, STATUS_LINE_LENGTH)
