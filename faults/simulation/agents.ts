import {
  failure,
  success,
  failedRun,
  type AgentRuntime,
  type FinishedRun,
  type RunOutcome,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import type { AgentRun } from '../checker/history.js'
import type { FaultLog } from './fault-log.js'
import type { FailureRates } from './failure-rates.js'
import type { Owner, Timeline } from './timeline.js'

/** A run. `agent` is the id of the agent. */
export type Ran = { -readonly [F in keyof AgentRun]: AgentRun[F] } & {
  readonly no: number
  readonly token: number
}

/** Agents that answer, fail, throw, hang, stream, answer late or by callback, or not at all. */
export type Agents = {
  readonly runs: readonly Ran[]
  runtimeOf(owner: Owner, name: string): AgentRuntime
}

/** Reports the result of a deferred run to the service. */
export type CallBack = (answer: {
  readonly messageId: string
  readonly runToken: string
  readonly run: FinishedRun
}) => void

type Turn = {
  readonly run: Ran
  readonly request: RunRequest
  readonly signal: AbortSignal
  readonly end: (outcome: RunOutcome) => void
  readonly fail: (error: Error) => void
  readonly owner: Owner
}

export const KIND = 'simulated'
const QUICK_MS = 300
/** Longer than the deadline of a run. */
const LATE_MS = 20_000

export function createAgents(
  timeline: Timeline,
  rates: FailureRates,
  faults: FaultLog,
  callBack: CallBack,
): Agents {
  const { dice } = timeline
  const runs: Ran[] = []
  const responseOf = ({ messageId, no }: Ran): string => `answer ${no} to ${messageId}`

  function answer({ run, end, owner }: Turn, afterMs: number): void {
    timeline.after(
      afterMs,
      () => {
        // An answer after an abort does not change the end of the run.
        Object.assign(run, { response: responseOf(run), endedAt: run.endedAt ?? timeline.elapsed })
        const usage = { inputTokens: run.no, outputTokens: 2 }
        end({ kind: 'answered', response: responseOf(run), usage })
      },
      owner,
    )
  }

  function endBadly({ run, owner }: Turn, how: () => void): void {
    const happen = (): void => {
      run.endedAt ??= timeline.elapsed
      how()
    }
    timeline.after(dice.below(QUICK_MS), happen, owner)
  }

  function answerLater({ run, request, end, owner }: Turn): void {
    const { messageId, runToken } = request
    const deadlineMs = 5_000 + dice.below(10_000)
    timeline.after(dice.below(QUICK_MS), () => end({ kind: 'deferred', deadlineMs }), owner)
    const isForgotten = dice.chance(rates.agentsFail)
    if (isForgotten) return faults.record('an agent does not call back', deadlineMs + QUICK_MS)
    const fails = dice.chance(rates.agentsFail)
    timeline.after(dice.below(deadlineMs), () => {
      run.endedAt ??= timeline.elapsed
      if (!fails) run.response = responseOf(run)
      const outcome: FinishedRun = fails
        ? failedRun('RUNTIME_ERROR', `callback ${run.no} says no`, dice.chance(0.5))
        : { kind: 'answered', response: responseOf(run) }
      callBack({ messageId, runToken, run: outcome })
    })
  }

  function askPerson({ run, end, owner }: Turn): void {
    const expiresInMs = 1 + dice.below(LATE_MS)
    const onExpiry = dice.chance(0.5) ? ('fail' as const) : { answer: 'nobody came' }
    const ask = (): void => {
      run.endedAt ??= timeline.elapsed
      end({ kind: 'input_required', question: `question ${run.no}`, expiresInMs, onExpiry })
    }
    timeline.after(dice.below(QUICK_MS), ask, owner)
  }

  const good = (turn: Turn): void => answer(turn, dice.below(QUICK_MS))
  const bad: readonly ((turn: Turn) => void)[] = [
    (turn) => answer(turn, dice.below(LATE_MS)),
    (turn) => endBadly(turn, () => turn.fail(new Error(`run ${turn.run.no} threw`))),
    (turn) =>
      endBadly(turn, () => turn.end(failedRun('RUNTIME_ERROR', `run ${turn.run.no} failed`, true))),
    (turn) =>
      endBadly(turn, () =>
        turn.end(failedRun('RUNTIME_ERROR', `run ${turn.run.no} failed for good`)),
      ),
    () => undefined, // Hangs and ignores its abort.
    ({ signal, end }) =>
      signal.addEventListener('abort', () => end(failedRun('RUNTIME_ERROR', 'told to end'))),
    (turn) => turn.signal.addEventListener('abort', () => answer(turn, dice.below(QUICK_MS))),
  ]

  async function useMemory({ request }: Turn): Promise<void> {
    if (dice.chance(0.2)) await request.history({ maxTurns: 5, maxLength: 1_000 })
    if (dice.chance(0.2))
      await request.remember(`after attempt ${request.attempt} of ${request.messageId}`)
  }

  function run(
    request: RunRequest,
    signal: AbortSignal,
    owner: Owner,
    name: string,
  ): Promise<RunOutcome> {
    const { messageId, sessionId, agentId, attempt } = request
    const run: Ran = {
      messageId,
      sessionId,
      agent: agentId,
      attempt,
      startedAt: timeline.elapsed,
      no: runs.length + 1,
      token: tokenOf(request),
    }
    runs.push(run)
    timeline.note(`${name} runs ${messageId}, attempt ${attempt}`)
    signal.addEventListener('abort', () => {
      const { cause } = signal.reason as Error
      timeline.note(`${name} aborts run ${run.no}: ${String(cause)}`)
      if (cause !== 'timeout' && cause !== 'drain') return
      faults.record('a run is aborted', 0)
      run.endedAt ??= timeline.elapsed
    })
    return new Promise((resolve, reject) => {
      const turn: Turn = { run, request, signal, owner, end: resolve, fail: reject }
      useMemory(turn).then(
        () => {
          request.emit('a piece')
          if (dice.chance(rates.agentsFail)) dice.oneOf(bad)(turn)
          else if (dice.chance(0.15)) answerLater(turn)
          else if (dice.chance(0.1)) askPerson(turn)
          else good(turn)
        },
        (error: unknown) =>
          endBadly(turn, () => resolve(failedRun('RUNTIME_ERROR', String(error), true))),
      )
    })
  }

  const runtimeOf = (owner: Owner, name: string): AgentRuntime => ({
    kind: KIND,
    signsRequests: false,
    parseOptions: async (options) => success({ options, secrets: {} }),
    start: async (_, onExit) => {
      await pause(timeline, dice.below(QUICK_MS), owner)
      if (dice.chance(rates.agentsFail / 5))
        return failure({ code: 'RUNTIME_EXITED', message: 'the agent did not start' })
      if (dice.chance(rates.agentsFail / 5)) {
        timeline.after(
          dice.below(LATE_MS),
          () => onExit({ code: 'RUNTIME_EXITED', message: 'the agent exited' }),
          owner,
        )
      }
      return success({
        run: (request, signal) => run(request, signal, owner, name),
        health: async () => ({ ok: !dice.chance(rates.agentsFail / 5) }),
        stop: () => pause(timeline, dice.below(QUICK_MS), owner),
      })
    },
  })

  return { runs, runtimeOf }
}

const pause = (timeline: Timeline, ms: number, owner: Owner): Promise<void> =>
  new Promise((resolve) => void timeline.after(ms, resolve, owner))

/** Returns the token of the run's lease. */
const tokenOf = ({ runToken }: RunRequest): number => Number(runToken.split('_')[1])
