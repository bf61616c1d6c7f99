import { randomUUID } from 'node:crypto'
import {
  beginningOf,
  failedRun,
  isStorableText,
  type FinishedRun,
} from '@org/agent-messaging-core/runtime'

/** What a run came to for the program; `sessionState` is to be remembered before the run ends. */
export type Reply = FinishedRun & { readonly sessionState?: string }

type OpenRun = { readonly end: (reply: Reply) => void; readonly emit: (chunk: string) => void }

const MAX_ERROR_LENGTH = 1_000

/** The runs that a program has been given and has not answered, by the id that each has for this one time. */
export type OpenRuns = ReturnType<typeof openRuns>

export function openRuns() {
  const runs = new Map<string, OpenRun>()

  /** False when there is no such run, or no longer. */
  function end(id: string, reply: Reply): boolean {
    runs.get(id)?.end(reply)
    return runs.delete(id)
  }

  return {
    isEmpty: () => runs.size === 0,
    has: (id: string) => runs.has(id),
    hasOthers: (id: string) => runs.size > (runs.has(id) ? 1 : 0),
    open(emit: (chunk: string) => void): { readonly id: string; readonly reply: Promise<Reply> } {
      const id = randomUUID()
      const reply = new Promise<Reply>((resolve) => runs.set(id, { end: resolve, emit }))
      return { id, reply }
    },
    emit(id: string, chunk: string): boolean {
      runs.get(id)?.emit(chunk)
      return runs.has(id)
    },
    end,
    /** The run that a text names, if there is one: the start of a line that is too long may show whose answer it is. */
    namedIn: (text: string): string | undefined => [...runs.keys()].find((id) => text.includes(id)),
    endAll(reply: Reply): void {
      for (const id of runs.keys()) end(id, reply)
    },
  }
}

/** What a program says of its failure, as far as it may be stored. */
export function programError(message: string, retryable: boolean): FinishedRun {
  const shown = beginningOf(message, MAX_ERROR_LENGTH)
  return failedRun(
    'RUNTIME_ERROR',
    isStorableText(shown) && shown !== '' ? shown : 'the agent failed',
    retryable,
  )
}
