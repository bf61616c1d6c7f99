import {
  failedRun,
  type OnExit,
  type RunningAgent,
  type RunRequest,
  type Turn,
} from '@org/agent-messaging-core/runtime'
import type { Child } from './child.js'
import type { Conversation } from './conversation.js'
import type { Reply } from './open-runs.js'
import { cancelLine, runLine, type Ready } from './process-protocol.js'
import { within } from './within.js'

export type ProcessLimits = {
  /** From the start to `ready`; 30 s unless given. */
  readonly startTimeoutMs: number
  /** From SIGTERM to SIGKILL; 5 s unless given. */
  readonly stopGraceMs: number
  /** So long a program may take to end a cancelled run; 3 s unless given. Core itself waits 5 s. */
  readonly cancelGraceMs: number
  /** 5 s unless given. */
  readonly healthTimeoutMs: number
  /** Of one line that it prints, and so of an answer; 8 MiB unless given. */
  readonly maxLineBytes: number
}

/** A program that went wrong is not worth a longer wait: its runs end when it does. */
export const FAULTY_GRACE_MS = 1_000
/** So long a program with a run that does not end may take to show that it does not hang. With the grace before, less than core waits. */
const PING_PATIENCE_MS = 1_000
/** When its input or output closes because it exits, the exit is known by then. */
const EXIT_PATIENCE_MS = 1_000

const ABANDONED = failedRun(
  'RUNTIME_LOST',
  'the program did not end the run when it was cancelled',
  true,
)
const LOST = failedRun('RUNTIME_LOST', 'the program ended during the run', true)

/** An agent over a program that is ready. `onExit` is called once it has ended without having been stopped. */
export function processAgent(
  child: Child,
  { runs, say, ping, heard }: Conversation,
  { history }: Ready,
  limits: ProcessLimits,
  onExit: OnExit,
): RunningAgent {
  let phase: 'running' | 'ending' | 'stopping' = 'running'
  let fault: string | undefined
  let isSacrifice = false

  /** Ends a program that does not do its part; what follows an exit then follows. */
  function giveUp(why: string, forRun = false): void {
    if (phase !== 'running') return
    phase = 'ending'
    fault = why
    isSacrifice = forRun
    void child.stop(FAULTY_GRACE_MS)
  }

  async function closed(end: string): Promise<void> {
    if (!(await within(EXIT_PATIENCE_MS, child.exited, undefined))) giveUp(`closed its ${end}`)
  }
  child.stdin.on('close', () => void closed('input'))
  child.stdout.on('end', () => void closed('output'))
  void child.exited.then(async ({ reason }) => {
    await heard
    runs.endAll(LOST)
    if (phase !== 'stopping')
      onExit({ code: 'RUNTIME_EXITED', message: `the program ${fault ?? reason}` }, isSacrifice)
    phase = 'stopping'
  })

  /**
   * A cancelled run that does not end goes on beside its session's next, so the program has to end; but not while it works for others
   * and can show it. Otherwise whoever cancels a message would take away the runs of everybody else. What it says of the run is dropped.
   */
  async function abandon(id: string): Promise<void> {
    const isAtWork = runs.hasOthers(id) && (await within(PING_PATIENCE_MS, ping(), false))
    if (isAtWork) runs.end(id, ABANDONED)
    else if (runs.has(id))
      giveUp(`did not end a cancelled run within ${limits.cancelGraceMs} ms`, true)
  }

  async function replyTo(
    request: RunRequest,
    turns: readonly Turn[] | undefined,
    signal: AbortSignal,
  ): Promise<Reply> {
    if (phase !== 'running') await child.exited // No sooner: the message would be tried again, and lost again, while it ends.
    if (phase !== 'running' || signal.aborted) return LOST
    const { id, reply } = runs.open((chunk) => request.emit(chunk))
    let impatience: NodeJS.Timeout | undefined
    const cancel = () => {
      say(cancelLine(id))
      impatience = setTimeout(() => void abandon(id), limits.cancelGraceMs)
    }
    signal.addEventListener('abort', cancel)
    say(runLine(id, request, turns))
    const replied = await reply
    signal.removeEventListener('abort', cancel)
    clearTimeout(impatience)
    return replied
  }

  return {
    async run(request, signal) {
      try {
        const turns = history ? await request.history(history) : undefined
        const { sessionState, ...outcome } = await replyTo(request, turns, signal)
        if (sessionState !== undefined) await request.remember(sessionState)
        return outcome
      } catch {
        return failedRun('RUNTIME_LOST', "the session's past could not be read or kept", true)
      }
    },
    /** A program at work may be too busy to answer, and its runs have their deadlines: only an idle one is asked. */
    async health(signal) {
      if (phase !== 'running') return { ok: false, detail: 'the program is ending' }
      if (!runs.isEmpty()) return { ok: true }
      const answer = Promise.race([ping(), child.exited.then(() => false)])
      const ok = await within(limits.healthTimeoutMs, answer, false, signal)
      return ok ? { ok } : { ok, detail: 'the program did not answer a ping' }
    },
    async stop() {
      phase = 'stopping'
      await child.stop(limits.stopGraceMs)
    },
  }
}
