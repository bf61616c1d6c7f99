import { randomUUID } from 'node:crypto'
import {
  beginningOf,
  failedRun,
  isStorableText,
  type EndedRun,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'

/** A program's reply to a run. `sessionState` must be stored before the run ends. */
export type Reply = EndedRun & { readonly sessionState?: string }

type Emit = RunRequest['emit']
type OpenRun = { readonly end: (reply: Reply) => void; readonly emit: Emit }

const MAX_ERROR_LENGTH = 1_000

/**
 * The runs that a program has not answered. Each attempt at a message has its own run id. `emit`
 * and `end` return false if no such run is open.
 */
export class OpenRuns {
  readonly #runs = new Map<string, OpenRun>()

  get isEmpty(): boolean {
    return this.#runs.size === 0
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  hasOthers(id: string): boolean {
    return this.#runs.size > (this.#runs.has(id) ? 1 : 0)
  }

  open(emit: Emit): { readonly id: string; readonly reply: Promise<Reply> } {
    const id = randomUUID()
    const reply = new Promise<Reply>((resolve) => this.#runs.set(id, { end: resolve, emit }))
    return { id, reply }
  }

  emit(id: string, emitted: Parameters<Emit>[0]): boolean {
    this.#runs.get(id)?.emit(emitted)
    return this.#runs.has(id)
  }

  end(id: string, reply: Reply): boolean {
    this.#runs.get(id)?.end(reply)
    return this.#runs.delete(id)
  }

  endAll(reply: Reply): void {
    for (const id of this.#runs.keys()) this.end(id, reply)
  }

  /** Finds the open run whose id occurs in the text. */
  namedIn(text: string): string | undefined {
    return [...this.#runs.keys()].find((id) => text.includes(id))
  }
}

export function programError(message: string, retryable: boolean): EndedRun {
  const text = beginningOf(message, MAX_ERROR_LENGTH)
  const isUsable = isStorableText(text) && text !== ''
  return failedRun('RUNTIME_ERROR', isUsable ? text : 'the agent failed', retryable)
}
