import { createDice } from '@org/agent-messaging-core/testing'
import type { Fault } from '../checker/history.js'
import { processFaults, type Harm } from './process-faults.js'
import type { ServerProcess } from './server-process.js'
import type { Store } from './store.js'
import { storeFaults } from './store-faults.js'
import { sleep } from './until.js'

export type Plan = {
  readonly seed: number
  readonly kills: number
  readonly faults: readonly string[]
  readonly over: AbortSignal
}

/** A kill is far quicker than most faults, and the one that everything has to bear: it comes as often as all others together. */
const KILLING: readonly string[] = ['kill', 'kill-at', 'purge']
const LONGEST_PAUSE_MS = 400
const isKill = ({ kind }: Fault): boolean => kind.startsWith('kill')

/** Harms the servers, each in turns of its own, until so many were killed or it is `over`; everything is mended at the end. */
export async function harass(
  servers: readonly ServerProcess[],
  store: Store,
  { seed, kills, faults, over }: Plan,
  told: (fault: Fault) => void,
): Promise<Fault[]> {
  const done: Fault[] = []
  let isStoreHarmed = false
  const killing = faults.filter((name) => KILLING.includes(name))
  const others = faults.filter((name) => !killing.includes(name))

  async function lane(server: ServerProcess, index: number): Promise<void> {
    const dice = createDice(seed * 7_919 + index)
    while (done.filter(isKill).length < kills && !over.aborted) {
      const name =
        killing.length === 0 || (others.length > 0 && dice.chance(0.15))
          ? dice.oneOf(others)
          : dice.oneOf(killing)
      await one(name, server, index)
      await sleep(dice.below(LONGEST_PAUSE_MS))
    }

    async function one(name: string, target: ServerProcess, place: number): Promise<void> {
      const ofStore = storeFaults[name]
      // Two of these at once would mend each other; and one lane is enough of them.
      if (ofStore && (isStoreHarmed || place > 0)) return
      isStoreHarmed ||= ofStore !== undefined
      const harm: Harm | undefined = ofStore ? ofStore.harm(store) : processFaults[name]
      const harmed = await harm?.(target, dice)
      if (ofStore) isStoreHarmed = false
      if (!harmed) return
      const fault = { until: Date.now(), ...harmed }
      done.push(fault)
      told(fault)
    }
  }

  await Promise.all(servers.map(lane))
  return done
}
