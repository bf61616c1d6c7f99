import type { Agent } from '../domain/agent.js'
import { beginningOf, isStorableText } from '../domain/json.js'
import { wordsOf } from '../domain/run.js'
import type { RunningAgent } from '../ports/agent-runtime.js'
import type { Platform } from '../platform.js'
import { createAbortGroup } from './abort-group.js'

/** An agent with its runtime in this process. */
export type Hosted = { readonly agent: Agent; readonly running: RunningAgent }

/** Asks the agents of this process now and then how they are. */
export type HealthWatch = {
  /** Begins to ask those whose time has come; holds nobody up. Calls `onUnhealthy` for one that was not well so many times in a row. */
  look(all: Iterable<Hosted>): void
  /** Something went wrong with it: it is asked at once. */
  suspect(hosted: Hosted): void
  /** Asks one, now: undefined when it is well, else what it says, or that it says nothing. Never rejects. */
  ask(running: RunningAgent): Promise<string | undefined>
  /** Nobody is asked any more. */
  stop(): void
}

type Patient = { askedAt: number; failuresBeforeError: number; isAsked: boolean }
type OnUnhealthy = (hosted: Hosted, why: string) => void

const MAX_DETAIL_LENGTH = 500

export function createHealthWatch(
  d: Pick<Platform, 'clock' | 'policy'>,
  onUnhealthy: OnUnhealthy,
): HealthWatch {
  const { intervalMs, recheckMs, timeoutMs, failuresBeforeError } = d.policy.agentHealth
  const patients = new WeakMap<Hosted, Patient>()
  const asks = createAbortGroup()

  function patientOf(hosted: Hosted): Patient {
    const patient = patients.get(hosted) ?? {
      askedAt: d.clock.now(),
      failuresBeforeError: 0,
      isAsked: false,
    }
    patients.set(hosted, patient)
    return patient
  }

  async function examine(hosted: Hosted, patient: Patient): Promise<void> {
    if (patient.isAsked) return
    patient.isAsked = true
    const why = await ask(hosted.running)
    patient.isAsked = false
    patient.askedAt = d.clock.now()
    patient.failuresBeforeError = why === undefined ? 0 : patient.failuresBeforeError + 1
    if (why === undefined || patient.failuresBeforeError < failuresBeforeError || asks.aborted)
      return
    patient.failuresBeforeError = 0
    onUnhealthy(hosted, why)
  }

  const ask = (running: RunningAgent): Promise<string | undefined> =>
    asks.run((over) => answerOf(running, over))

  async function answerOf(
    running: RunningAgent,
    over: AbortController,
  ): Promise<string | undefined> {
    const late = d.clock
      .sleep(timeoutMs, over.signal)
      .then(() => ({ ok: false, detail: `no answer within ${timeoutMs} ms` }))
    try {
      const health = await Promise.race([running.health(over.signal), late])
      return health.ok ? undefined : sayable(health.detail)
    } catch (error) {
      return sayable(wordsOf(error))
    } finally {
      over.abort('over')
    }
  }

  return {
    look(all) {
      const now = d.clock.now()
      for (const hosted of all) {
        const patient = patientOf(hosted)
        const pauseMs = patient.failuresBeforeError === 0 ? intervalMs : recheckMs
        // Either way: after a jump of the clock nobody waits until the old time has come again.
        if (Math.abs(now - patient.askedAt) >= pauseMs) void examine(hosted, patient)
      }
    },
    suspect: (hosted) => void examine(hosted, patientOf(hosted)),
    ask,
    stop: () => asks.abort('stopped'),
  }
}

/** What an agent says of itself may be anything, and is kept with it. */
function sayable(detail = 'it does not say why'): string {
  const short = beginningOf(detail, MAX_DETAIL_LENGTH)
  return isStorableText(short) ? short : 'it says why in text that cannot be stored'
}
