import type { CallBack } from './agents.js'
import type { FaultLog } from './fault-log.js'
import type { AnyProcess } from './process.js'
import type { Timeline } from './timeline.js'

const TRIES = 4
const PAUSE_MS = 1_000

/** Returns a callback that repeats until a process accepts it, a limited number of times. */
export function createCallBack(
  timeline: Timeline,
  faults: FaultLog,
  anyProcess: AnyProcess,
): CallBack {
  async function report(answer: Parameters<CallBack>[0], tries: number): Promise<void> {
    const taken = await anyProcess()?.ask((service) => service.host.answerRun(answer))
    if (taken?.isOk()) return
    faults.record('a callback was not accepted', 0)
    if (tries < TRIES)
      timeline.after(timeline.dice.below(PAUSE_MS), () => void report(answer, tries + 1))
  }
  return (answer) => void report(answer, 1)
}
