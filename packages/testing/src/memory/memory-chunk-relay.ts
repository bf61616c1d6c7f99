import type { ChunkRelay, RelayNote } from '@org/agent-messaging-core/storage'

/** Sends pieces of answers between services in one process. */
export function memoryChunkRelay(): ChunkRelay {
  const listeners = new Set<(note: RelayNote) => void>()
  return {
    send: async (note) => {
      for (const listener of listeners) listener(note)
    },
    onNote: (listen) => {
      const listener = (note: RelayNote): void => listen(note)
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
