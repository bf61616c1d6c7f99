import { failedRun } from '@org/agent-messaging-core/runtime'
import { err, ok, type Result } from 'neverthrow'
import type { Child } from './child.js'
import { readLines } from './lines.js'
import { openRuns, programError, type OpenRuns } from './open-runs.js'
import {
  parseLine,
  PING_LINE,
  type FromProgram,
  type Ready,
  type Unusable,
} from './process-protocol.js'

/** Both ends of the talk with one program. Nothing here rejects, and nothing that a program prints is fatal. */
export type Conversation = {
  readonly runs: OpenRuns
  /** Pending until the program has said that it is ready, rightly or not: then an error says what is wrong with it. */
  readonly ready: Promise<Result<Ready, string>>
  say(line: string): void
  /** Resolves when all that the program printed has been read: soon after its exit, at the latest. */
  readonly heard: Promise<void>
  /** Resolves at the program's next `pong`; asks for one unless one is awaited already. */
  ping(): Promise<true>
}

export type ConversationOptions = {
  readonly maxLineBytes: number
  /** What could not be used: a message of the protocol without its text, anything else as it was printed. */
  readonly onStray: (line: string, why: string) => void
}

/** So much of a line that was too long is looked at for the id of its run. */
const HEAD_LENGTH = 1_000

export function converse(
  { stdin, stdout }: Pick<Child, 'stdin' | 'stdout'>,
  { maxLineBytes, onStray }: ConversationOptions,
): Conversation {
  const runs = openRuns()
  const ready = once<Result<Ready, string>>()
  let pong: ReturnType<typeof once<true>> | undefined

  /** Why the message could not be taken, or undefined when it was. */
  function take(message: FromProgram): string | undefined {
    switch (message.type) {
      case 'ready':
        return ready.settle(ok(message)) ? undefined : 'ready a second time'
      case 'pong':
        pong?.settle(true)
        pong = undefined
        return undefined
      case 'chunk':
        return runs.emit(message.id, message.text) ? undefined : NO_RUN
      case 'error':
        return runs.end(message.id, programError(message.message, message.retryable ?? false))
          ? undefined
          : NO_RUN
      case 'answer':
        return runs.end(message.id, answered(message)) ? undefined : NO_RUN
    }
  }

  /** A run whose answer is broken has failed: it gets no other. */
  function refuse({ why, of, id }: Unusable, line: string): void {
    onStray(of === undefined ? line : withoutText({ type: of, id }), why)
    if (of === 'ready') ready.settle(err(`wrote a ready line that is not valid: ${why}`))
    if (id !== undefined && of !== 'chunk')
      runs.end(id, failedRun('RESPONSE_INVALID', `the program's ${of} is not valid: ${why}`))
  }

  /** Its end was never in memory, but its start names the run if it was written as most programs do. */
  function refuseCut(line: string): void {
    const head = line.slice(0, HEAD_LENGTH)
    const why = `a line of more than ${maxLineBytes} bytes`
    const id = runs.namedIn(head)
    refuse({ type: 'unusable', why, ...(id !== undefined && { of: 'answer', id }) }, head)
  }

  const heard = readLines(stdout, maxLineBytes, (line, isCut) => {
    if (isCut) return refuseCut(line)
    const message = parseLine(line)
    if (message.type === 'unusable') return refuse(message, line)
    const refusal = take(message)
    if (refusal !== undefined) onStray(withoutText(message), refusal)
  })

  return {
    runs,
    ready: ready.promise,
    heard,
    say: (line) => void stdin.write(line),
    ping() {
      if (!pong) {
        pong = once()
        stdin.write(PING_LINE)
      }
      return pong.promise
    },
  }
}

const NO_RUN = 'no run that waits for it: it is late, given twice, or for a run of nobody'

/** What users write and agents answer has no place in a log. */
const withoutText = ({
  type,
  id,
}: {
  readonly type: string
  readonly id?: string | undefined
}): string => JSON.stringify({ type, id })

const answered = ({ response, sessionState }: Extract<FromProgram, { type: 'answer' }>) =>
  ({
    kind: 'answered',
    response,
    ...(typeof sessionState === 'string' && { sessionState }),
  }) as const

/** A promise that is settled from outside; `settle` is false from the second time on. */
function once<T>() {
  let resolve = (_: T): void => undefined
  let isSettled = false
  const promise = new Promise<T>((resolvePromise) => {
    resolve = resolvePromise
  })
  const settle = (value: T): boolean => {
    if (isSettled) return false
    resolve(value)
    return (isSettled = true)
  }
  return { promise, settle }
}
