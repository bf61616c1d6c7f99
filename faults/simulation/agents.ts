import {
  failedRun,
  type AgentRuntime,
  type FinishedRun,
  type RunOutcome,
  type RunRequest,
} from '@org/agent-messaging-core/runtime'
import { err, ok } from 'neverthrow'
import type { AgentRun } from '../checker/history.js'
import type { Faults } from './faults.js'
import type { Weather } from './weather.js'
import type { Owner, World } from './world.js'

/** `agent`: its id. */
export type Ran = { -readonly [F in keyof AgentRun]: AgentRun[F] } & {
  readonly no: number
  readonly token: number
}

/** Agents of all kinds: they answer, fail, throw, hang, come late, answer by callback, stream, and forget to call back. */
export type Agents = {
  readonly runs: readonly Ran[]
  runtimeOf(owner: Owner, name: string): AgentRuntime
}

/** Tells the service what a deferred run came to. */
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
  world: World,
  weather: Weather,
  faults: Faults,
  callBack: CallBack,
): Agents {
  const { dice } = world
  const runs: Ran[] = []
  const responseOf = ({ messageId, no }: Ran): string => `answer ${no} to ${messageId}`

  function answer({ run, end, owner }: Turn, afterMs: number): void {
    world.after(
      afterMs,
      () => {
        // What an agent says after it was told to end is no longer its own end of the run.
        Object.assign(run, { response: responseOf(run), endedAt: run.endedAt ?? world.elapsed })
        end({ kind: 'answered', response: responseOf(run) })
      },
      owner,
    )
  }

  function endBadly({ run, owner }: Turn, how: () => void): void {
    const happen = (): void => {
      run.endedAt ??= world.elapsed
      how()
    }
    world.after(dice.below(QUICK_MS), happen, owner)
  }

  function answerLater({ run, request, end, owner }: Turn): void {
    const { messageId, runToken } = request
    const deadlineMs = 5_000 + dice.below(10_000)
    world.after(dice.below(QUICK_MS), () => end({ kind: 'deferred', deadlineMs }), owner)
    const isForgotten = dice.chance(weather.agentsFail)
    if (isForgotten) return faults.brief('an agent does not call back', deadlineMs + QUICK_MS)
    const fails = dice.chance(weather.agentsFail)
    world.after(dice.below(deadlineMs), () => {
      run.endedAt ??= world.elapsed
      if (!fails) run.response = responseOf(run)
      const outcome: FinishedRun = fails
        ? failedRun('RUNTIME_ERROR', `callback ${run.no} says no`, dice.chance(0.5))
        : { kind: 'answered', response: responseOf(run) }
      callBack({ messageId, runToken, run: outcome })
    })
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
    () => undefined, // hangs, and does not even hear that it is to end
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
      startedAt: world.elapsed,
      no: runs.length + 1,
      token: tokenOf(request),
    }
    runs.push(run)
    world.note(`${name} runs ${messageId}, attempt ${attempt}`)
    signal.addEventListener('abort', () => {
      const { cause } = signal.reason as Error
      world.note(`${name} is told to end run ${run.no}: ${String(cause)}`)
      if (cause !== 'timeout' && cause !== 'drain') return
      faults.brief('a run is told to end', 0)
      run.endedAt ??= world.elapsed
    })
    return new Promise((resolve, reject) => {
      const turn: Turn = { run, request, signal, owner, end: resolve, fail: reject }
      useMemory(turn).then(
        () => {
          request.emit('a piece')
          if (dice.chance(weather.agentsFail)) dice.oneOf(bad)(turn)
          else if (dice.chance(0.15)) answerLater(turn)
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
    parseOptions: async (options) => ok({ options, secrets: {} }),
    start: async (_, onExit) => {
      await pause(world, dice.below(QUICK_MS), owner)
      if (dice.chance(weather.agentsFail / 5))
        return err({ code: 'RUNTIME_EXITED', message: 'it did not start' })
      if (dice.chance(weather.agentsFail / 5)) {
        world.after(
          dice.below(LATE_MS),
          () => onExit({ code: 'RUNTIME_EXITED', message: 'it ended by itself' }),
          owner,
        )
      }
      return ok({
        run: (request, signal) => run(request, signal, owner, name),
        health: async () => ({ ok: !dice.chance(weather.agentsFail / 5) }),
        stop: () => pause(world, dice.below(QUICK_MS), owner),
      })
    },
  })

  return { runs, runtimeOf }
}

const pause = (world: World, ms: number, owner: Owner): Promise<void> =>
  new Promise((resolve) => void world.after(ms, resolve, owner))

/** Of the run's lease. */
const tokenOf = ({ runToken }: RunRequest): number => Number(runToken.split('_')[1])
