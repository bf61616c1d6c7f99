import { describe, expect, test, vi } from 'vitest'
import {
  MAX_RELAYED_LENGTH,
  type ChunkRelay,
  type RelayNote,
  type RelayedChunk,
} from '@org/agent-messaging-core/storage'

export type ChunkRelaysUnderTest = {
  /** Of two processes on one storage. */
  readonly from: ChunkRelay
  readonly to: ChunkRelay
  close(): Promise<void>
}

const PATIENCE = { timeout: 60_000, interval: 20 }

/** Registers the contract of a chunk relay as vitest tests. Call it at the top of a test file. */
export function describeChunkRelayContract(
  name: string,
  open: () => Promise<ChunkRelaysUnderTest>,
): void {
  const it = test.extend<{ relays: ChunkRelaysUnderTest }>({
    // oxlint-disable-next-line no-empty-pattern -- vitest reads a fixture's needs from this pattern
    relays: async ({}, use) => {
      const relays = await open()
      await connected(relays)
      await use(relays)
      await relays.close()
    },
  })

  describe(`${name} keeps the contract of a chunk relay`, () => {
    it('carries questions and chunks in their order', async ({ relays: { from, to } }) => {
      const notes = Array.from({ length: 500 }, (_, n) =>
        n % 5 === 0 ? questionOf(n) : chunkOf(String(n), n),
      )
      const heard: RelayNote[] = []
      const stop = to.onNote((note) => void heard.push(note))
      await Promise.all(notes.map((note) => from.send(note)))
      await vi.waitFor(() => expect(heard).toEqual(notes), PATIENCE)
      stop()
    })

    it.for([
      ['control characters', '\u0000\n\u001F'],
      ['halves of an emoji', '\uDE00\uD83D'],
      ['letters of three bytes', '漢'],
      ['separators of notes', ',;\n\'"\\'],
    ] as const)('carries the longest text of %s', async ([, letters], { relays }) => {
      const text = letters.repeat(MAX_RELAYED_LENGTH).slice(0, MAX_RELAYED_LENGTH)
      const heard = vi.fn<(note: RelayNote) => void>()
      const stop = relays.to.onNote(heard)
      await relays.from.send(chunkOf(text, 1))
      await vi.waitFor(() => expect(heard).toHaveBeenCalledWith(chunkOf(text, 1)), PATIENCE)
      stop()
    })

    it('calls no former listener', async ({ relays }) => {
      const gone = vi.fn<(note: RelayNote) => void>()
      relays.to.onNote(gone)()
      await connected(relays)
      expect(gone).not.toHaveBeenCalled()
    })
  })
}

/** Repeats a note until it is heard, because a note is lost while a connection is made. */
async function connected({ from, to }: ChunkRelaysUnderTest): Promise<void> {
  let sent = 0
  let last = -1
  const stop = to.onNote((note) => {
    if (note.kind === 'chunk') last = note.offset
  })
  await vi.waitFor(async () => {
    await from.send(chunkOf('', ++sent))
    expect(last).toBeGreaterThan(0)
  }, PATIENCE)
  // Notes keep their order: no earlier one follows this one.
  await vi.waitFor(() => expect(last).toBe(sent), PATIENCE)
  stop()
}

const messageId = '0197b3a0-0000-7000-8000-000000000001'
const run = { startedAt: 1_800_000_000_000, attempt: 1 }

const questionOf = (offset: number): RelayNote => ({
  kind: 'question',
  messageId,
  have: { ...run, offset },
  isBehind: true,
})

const chunkOf = (text: string, offset: number): RelayedChunk => ({
  kind: 'chunk',
  messageId,
  ...run,
  start: { offset: 0, text: 0, parts: 0 },
  offset,
  text,
  isLast: false,
})
