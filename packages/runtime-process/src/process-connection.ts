import {
  failedRun,
  failure,
  parseQuestion,
  parseRunUsage,
  type PartEvent,
  type PortResult,
  success,
} from '@org/agent-messaging-core/runtime'
import type { Child } from './child.js'
import { readLines } from './lines.js'
import { OpenRuns, programError, type Reply } from './open-runs.js'
import {
  parseLine,
  PING_LINE,
  type FromProgram,
  type Ready,
  type Unusable,
} from './process-protocol.js'

export type ConnectionOptions = {
  readonly maxLineBytes: number
  /** Receives unusable lines. A message of the protocol comes without its text. */
  readonly onStray: (line: string, why: string) => void
}

/** A line that ends no run begins like this, as most programs write it. */
const OUTPUT_LINE = /^\{\s*"type"\s*:\s*"(chunk|part)"/
const isOutput = (type: string | undefined) => type === 'chunk' || type === 'part'
/** How much of a long line is searched for the id of its run. */
const HEAD_LENGTH = 1_000
const NO_RUN = 'no open run has this id: the message is late, repeated, or its id is wrong'

/** The JSON lines to and from one program. Never rejects, and survives any output. */
export class ProcessConnection {
  readonly runs = new OpenRuns()
  /** Resolves with the program's ready message, or with the problem in it. */
  readonly ready: Promise<PortResult<Ready, string>>
  /** Resolves when all output of the program is read, shortly after its exit. */
  readonly outputEnded: Promise<void>
  readonly #stdin: Child['stdin']
  readonly #options: ConnectionOptions
  readonly #ready = deferred<PortResult<Ready, string>>()
  /** The ping that the program has not answered yet. */
  #ping: Deferred<true> | undefined

  constructor({ stdin, stdout }: Pick<Child, 'stdin' | 'stdout'>, options: ConnectionOptions) {
    this.#stdin = stdin
    this.#options = options
    this.ready = this.#ready.promise
    this.outputEnded = readLines(stdout, options.maxLineBytes, (line, isCut) =>
      isCut ? this.#onCutLine(line) : this.#onLine(line),
    )
  }

  send(line: string): void {
    this.#stdin.write(line)
  }

  /** Resolves at the next pong. Sends a ping unless one is open. */
  ping(): Promise<true> {
    if (!this.#ping) {
      this.#ping = deferred()
      this.send(PING_LINE)
    }
    return this.#ping.promise
  }

  #onLine(line: string) {
    const message = parseLine(line)
    if (message.type === 'unusable') return this.#reject(message, line)
    const problem = this.#apply(message)
    if (problem !== undefined) this.#options.onStray(withoutText(message), problem)
  }

  /** Only the start of the line is known. Most programs write the run's id there. */
  #onCutLine(line: string) {
    const head = line.slice(0, HEAD_LENGTH)
    const why = `the line has more than ${this.#options.maxLineBytes} bytes`
    const id = this.runs.namedIn(head)
    const of = OUTPUT_LINE.exec(head)?.[1] ?? 'answer'
    this.#reject({ type: 'unusable', why, ...(id !== undefined && { of, id }) }, head)
  }

  /** Returns why a message does not fit the state of the connection. */
  #apply(message: FromProgram): string | undefined {
    switch (message.type) {
      case 'ready':
        return this.#ready.resolve(success(message)) ? undefined : 'ready was already received'
      case 'pong':
        this.#ping?.resolve(true)
        this.#ping = undefined
        return undefined
      case 'chunk':
        return this.runs.emit(message.id, message.text) ? undefined : NO_RUN
      case 'part':
        return this.runs.emit(message.id, message.part as PartEvent) ? undefined : NO_RUN
      case 'error': {
        const failure = programError(message.message, message.retryable ?? false)
        return this.runs.end(message.id, withUsage(failure, message)) ? undefined : NO_RUN
      }
      case 'question':
        return this.runs.end(message.id, withUsage(askedBy(message), { usage: message['usage'] }))
          ? undefined
          : NO_RUN
      case 'answer':
        return this.runs.end(message.id, withUsage(answered(message), message)) ? undefined : NO_RUN
    }
  }

  /** Logs an unusable line. Fails the run that it names, because no other answer will come. */
  #reject({ why, of, id }: Unusable, line: string) {
    this.#options.onStray(of === undefined ? line : withoutText({ type: of, id }), why)
    if (of === 'ready') this.#ready.resolve(failure(`sent an invalid ready message: ${why}`))
    if (id !== undefined && !isOutput(of))
      this.runs.end(id, failedRun('RESPONSE_INVALID', `the program's ${of} is not valid: ${why}`))
  }
}

/** Keeps the texts of users and agents out of the log. */
const withoutText = ({ type, id }: { readonly type: string; readonly id?: string | undefined }) =>
  JSON.stringify({ type, id })

const answered = ({ response, sessionState }: Extract<FromProgram, { type: 'answer' }>): Reply => ({
  kind: 'answered',
  response,
  ...(typeof sessionState === 'string' && { sessionState }),
})

function withUsage<R extends Reply>(reply: R, message: { readonly usage?: unknown }) {
  const usage = parseRunUsage(message.usage)
  return usage ? { ...reply, usage } : reply
}

/** Ends the run with the question, or fails it. Null means that a field is absent. */
function askedBy(message: Extract<FromProgram, { type: 'question' }>): Reply {
  const given = Object.entries(message).filter(([, value]) => value !== null)
  const question = parseQuestion(Object.fromEntries(given))
  return typeof question === 'string'
    ? failedRun('QUESTION_INVALID', `the question ${question}`)
    : question
}

type Deferred<T> = {
  readonly promise: Promise<T>
  /** Returns false if the promise is already resolved. */
  resolve(value: T): boolean
}

function deferred<T>(): Deferred<T> {
  let settle: ((value: T) => void) | undefined
  const promise = new Promise<T>((resolve) => {
    settle = resolve
  })
  return {
    promise,
    resolve(value) {
      const isFirst = settle !== undefined
      settle?.(value)
      settle = undefined
      return isFirst
    },
  }
}
