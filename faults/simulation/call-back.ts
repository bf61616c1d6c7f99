import type { CallBack } from './agents.js'
import type { Faults } from './faults.js'
import type { Somebody } from './process.js'
import type { World } from './world.js'

const TRIES = 4
const PAUSE_MS = 1_000

/** An agent that answers later does so until it is heard, for a while; by a process that may not be the one that asked it. */
export function createCallBack(world: World, faults: Faults, somebody: Somebody): CallBack {
  async function tell(answer: Parameters<CallBack>[0], tries: number): Promise<void> {
    const taken = await somebody()?.ask((service) => service.messages.answer(answer))
    if (taken?.isOk()) return
    faults.brief('a callback was not taken', 0)
    if (tries < TRIES) world.after(world.dice.below(PAUSE_MS), () => void tell(answer, tries + 1))
  }
  return (answer) => void tell(answer, 1)
}
