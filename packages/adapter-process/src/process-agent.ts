import {
  failedRun,
  type OnExit,
  type RunningAgent,
  type RunOutcome,
  type RunRequest,
  type Turn,
} from '@org/agent-messaging-core/runtime'
import type { Child } from './child.js'
import type { Reply } from './open-runs.js'
import type { ProcessConnection } from './process-connection.js'
import { cancelLine, runLine, type Ready } from './process-protocol.js'
import { within } from './within.js'

export type ProcessLimits = {
  /** From the start to `ready`. The default is 30 s. */
  readonly startTimeoutMs: number
  /** From SIGTERM to SIGKILL. The default is 5 s. */
  readonly stopGraceMs: number
  /** How long a program can take to end a cancelled run. The default is 3 s. Core waits 5 s. */
  readonly cancelGraceMs: number
  /** The default is 5 s. */
  readonly healthTimeoutMs: number
  /** The limit of one printed line, and so of an answer. The default is 8 MiB. */
  readonly maxLineBytes: number
}

/** The time from SIGTERM to SIGKILL for a program that misbehaves. */
export const FAULTY_GRACE_MS = 1_000
/**
 * How long a busy program can take to answer a ping. With `cancelGraceMs`, less than core waits.
 */
const PING_TIMEOUT_MS = 1_000
/** How long the exit can take after the program closed its input or output. */
const EXIT_TIMEOUT_MS = 1_000

const NOT_ENDED = failedRun(
  'RUNTIME_LOST',
  'the program did not end the run when it was cancelled',
  true,
)
const LOST = failedRun('RUNTIME_LOST', 'the program ended during the run', true)

/** An agent that runs as one program. */
export class ProcessAgent implements RunningAgent {
  readonly #child: Child
  readonly #connection: ProcessConnection
  readonly #history: Ready['history']
  readonly #limits: ProcessLimits
  readonly #onExit: OnExit
  #phase: 'running' | 'ending' | 'stopped' = 'running'
  /** Why this agent ended its program. `isForRun`: to get rid of a run that did not end. */
  #fault: { readonly reason: string; readonly isForRun: boolean } | undefined

  /** Calls `onExit` when the program ends without `stop`. */
  constructor(
    child: Child,
    connection: ProcessConnection,
    { history }: Ready,
    limits: ProcessLimits,
    onExit: OnExit,
  ) {
    this.#child = child
    this.#connection = connection
    this.#history = history
    this.#limits = limits
    this.#onExit = onExit
    child.stdin.on('close', () => void this.#onClosed('input'))
    child.stdout.on('end', () => void this.#onClosed('output'))
    void child.exited.then(({ reason }) => this.#onExited(reason))
  }

  async run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    try {
      const turns = this.#history ? await request.history(this.#history) : undefined
      const { sessionState, ...outcome } = await this.#replyTo(request, turns, signal)
      if (sessionState !== undefined) await request.remember(sessionState)
      return outcome
    } catch {
      const message = "the session's history or state could not be read or stored"
      return failedRun('RUNTIME_LOST', message, true)
    }
  }

  /** Pings an idle program. A busy one can be slow to answer, and its runs have deadlines. */
  async health(signal: AbortSignal): Promise<{ ok: boolean; detail?: string }> {
    if (this.#phase !== 'running') return { ok: false, detail: 'the program is ending' }
    if (!this.#connection.runs.isEmpty) return { ok: true }
    const answer = Promise.race([
      this.#connection.ping(),
      this.#child.exited.then(() => false as const),
    ])
    const ok = await within(this.#limits.healthTimeoutMs, answer, false, signal)
    return ok ? { ok } : { ok, detail: 'the program did not answer a ping' }
  }

  async stop(): Promise<void> {
    this.#phase = 'stopped'
    await this.#child.stop(this.#limits.stopGraceMs)
  }

  async #replyTo(
    request: RunRequest,
    turns: readonly Turn[] | undefined,
    signal: AbortSignal,
  ): Promise<Reply> {
    // An earlier failure would be retried, and fail again, while the program still ends.
    if (this.#phase !== 'running') await this.#child.exited
    if (this.#phase !== 'running' || signal.aborted) return LOST
    const { id, reply } = this.#connection.runs.open((chunk) => request.emit(chunk))
    let timer: NodeJS.Timeout | undefined
    const cancel = () => {
      this.#connection.send(cancelLine(id))
      timer = setTimeout(() => void this.#abandon(id), this.#limits.cancelGraceMs)
    }
    signal.addEventListener('abort', cancel)
    this.#connection.send(runLine(id, request, turns))
    const received = await reply
    signal.removeEventListener('abort', cancel)
    clearTimeout(timer)
    return received
  }

  /**
   * Handles a cancelled run that does not end. The run would overlap the session's next run, so the
   * program must end. But a program with other runs that still answers a ping goes on, because one
   * cancelled message must not end the other runs. Its late reply is ignored.
   */
  async #abandon(id: string): Promise<void> {
    const { runs } = this.#connection
    const isBusy =
      runs.hasOthers(id) && (await within(PING_TIMEOUT_MS, this.#connection.ping(), false))
    if (isBusy) runs.end(id, NOT_ENDED)
    else if (runs.has(id)) {
      const { cancelGraceMs } = this.#limits
      this.#end({
        reason: `did not end a cancelled run within ${cancelGraceMs} ms`,
        isForRun: true,
      })
    }
  }

  async #onClosed(end: 'input' | 'output'): Promise<void> {
    const exit = await within(EXIT_TIMEOUT_MS, this.#child.exited, undefined)
    if (!exit) this.#end({ reason: `closed its ${end}`, isForRun: false })
  }

  async #onExited(reason: string): Promise<void> {
    await this.#connection.outputEnded
    this.#connection.runs.endAll(LOST)
    if (this.#phase !== 'stopped') {
      const message = `the program ${this.#fault?.reason ?? reason}`
      this.#onExit({ code: 'RUNTIME_EXITED', message }, this.#fault?.isForRun ?? false)
    }
    this.#phase = 'stopped'
  }

  /** Ends a program that misbehaves. The exit then ends its runs. */
  #end(fault: { readonly reason: string; readonly isForRun: boolean }): void {
    if (this.#phase !== 'running') return
    this.#phase = 'ending'
    this.#fault = fault
    void this.#child.stop(FAULTY_GRACE_MS)
  }
}
