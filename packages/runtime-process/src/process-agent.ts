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
  /** From the start to `ready`: 30 s by default. */
  readonly startTimeoutMs: number
  /** From SIGTERM to SIGKILL: 5 s by default. */
  readonly stopGraceMs: number
  /** The time to end a cancelled run: 3 s by default. Core waits 5 s. */
  readonly cancelGraceMs: number
  /** 5 s by default. */
  readonly healthTimeoutMs: number
  /** Limits one printed line, and so an answer: 8 MiB by default. */
  readonly maxLineBytes: number
}

/** From SIGTERM to SIGKILL for a program that misbehaves. */
export const FAULTY_GRACE_MS = 1_000
/** The time to answer for a busy program. With `cancelGraceMs`, less than core waits. */
const PING_TIMEOUT_MS = 1_000
/** The time to exit after the program closed its input or output. */
const EXIT_TIMEOUT_MS = 1_000

const NOT_ENDED = failedRun(
  'RUNTIME_LOST',
  'the program did not end the run when it was cancelled',
  true,
)
const LOST = failedRun('RUNTIME_LOST', 'the program ended during the run', true)

export type ProcessAgentOptions = {
  readonly child: Child
  readonly connection: ProcessConnection
  readonly history: Ready['history']
  readonly limits: ProcessLimits
  /** Called when the program ends without `stop`. */
  readonly onExit: OnExit
}

/** Why the agent ended its program. `isForRun`: to end a run that ignored its cancellation. */
type Fault = { readonly reason: string; readonly isForRun: boolean }

/** An agent that runs as one program. */
export class ProcessAgent implements RunningAgent {
  readonly #options: ProcessAgentOptions
  #phase: 'running' | 'ending' | 'stopped' = 'running'
  #fault: Fault | undefined

  constructor(options: ProcessAgentOptions) {
    this.#options = options
    const { child } = options
    child.stdin.on('close', () => void this.#onClosed('input'))
    child.stdout.on('end', () => void this.#onClosed('output'))
    void child.exited.then(({ reason }) => this.#onExited(reason))
  }

  async run(request: RunRequest, signal: AbortSignal): Promise<RunOutcome> {
    const { history } = this.#options
    try {
      const turns = history ? await request.history(history) : undefined
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
    const { child, connection, limits } = this.#options
    if (!connection.runs.isEmpty) return { ok: true }
    const answer = Promise.race([connection.ping(), child.exited.then(() => false)])
    const ok = await within(limits.healthTimeoutMs, answer, false, signal)
    return ok ? { ok } : { ok, detail: 'the program did not answer a ping' }
  }

  async stop(): Promise<void> {
    this.#phase = 'stopped'
    await this.#options.child.stop(this.#options.limits.stopGraceMs)
  }

  async #replyTo(
    request: RunRequest,
    turns: readonly Turn[] | undefined,
    signal: AbortSignal,
  ): Promise<Reply> {
    const { child, connection, limits } = this.#options
    // An earlier failure would be retried, and fail again, while the program still ends.
    if (this.#phase !== 'running') await child.exited
    if (this.#phase !== 'running' || signal.aborted) return LOST
    const { id, reply } = connection.runs.open((emitted) => request.emit(emitted))
    let timer: NodeJS.Timeout | undefined
    const cancel = () => {
      connection.send(cancelLine(id))
      timer = setTimeout(() => void this.#abandon(id), limits.cancelGraceMs)
    }
    signal.addEventListener('abort', cancel)
    connection.send(runLine(id, request, turns))
    const received = await reply
    signal.removeEventListener('abort', cancel)
    clearTimeout(timer)
    return received
  }

  /**
   * Handles a cancelled run that does not end. The run would overlap the session's next run, so the
   * program must end. But one cancelled message must not end other runs: if there are any and the
   * program answers a ping, only this run ends.
   */
  async #abandon(id: string): Promise<void> {
    const { connection, limits } = this.#options
    const { runs } = connection
    const isBusy = runs.hasOthers(id) && (await within(PING_TIMEOUT_MS, connection.ping(), false))
    if (isBusy) return void runs.end(id, NOT_ENDED)
    const reason = `did not end a cancelled run within ${limits.cancelGraceMs} ms`
    if (runs.has(id)) this.#end({ reason, isForRun: true })
  }

  async #onClosed(end: 'input' | 'output') {
    const exit = await within(EXIT_TIMEOUT_MS, this.#options.child.exited, undefined)
    if (!exit) this.#end({ reason: `closed its ${end}`, isForRun: false })
  }

  async #onExited(reason: string) {
    const { connection, onExit } = this.#options
    await connection.outputEnded
    connection.runs.endAll(LOST)
    const wasStopped = this.#phase === 'stopped'
    this.#phase = 'stopped'
    if (wasStopped) return
    const { reason: message, isForRun } = this.#fault ?? { reason, isForRun: false }
    onExit({ code: 'RUNTIME_EXITED', message: `the program ${message}` }, isForRun)
  }

  /** Ends a program that misbehaves. The exit then ends its runs. */
  #end(fault: Fault) {
    if (this.#phase !== 'running') return
    this.#phase = 'ending'
    this.#fault = fault
    void this.#options.child.stop(FAULTY_GRACE_MS)
  }
}
