import { createDice } from '@org/agent-messaging-testing'
import type { Fault } from '../checker/history.js'
import { processFaults, type Inject } from './process-faults.js'
import type { ServerProcess } from './server-process.js'
import type { Store } from './store.js'
import { storeFaults } from './store-faults.js'
import { sleep } from './until.js'

export type Plan = {
  readonly seed: number
  readonly kills: number
  readonly faults: readonly string[]
  readonly signal: AbortSignal
}

/** Faults that kill a server. They are quick, and most faults of a run are kills. */
const KILLING: readonly string[] = ['kill', 'kill-at', 'purge']
const LONGEST_PAUSE_MS = 400
const isKill = ({ kind }: Fault): boolean => kind.startsWith('kill')

/** Injects faults into all servers until enough kills or an abort. Repairs each fault. */
export async function injectFaults(
  servers: readonly ServerProcess[],
  store: Store,
  { seed, kills, faults, signal }: Plan,
  onFault: (fault: Fault) => void,
): Promise<Fault[]> {
  const done: Fault[] = []
  let isStoreFaulty = false
  const killing = faults.filter((name) => KILLING.includes(name))
  const others = faults.filter((name) => !killing.includes(name))

  async function injectInto(server: ServerProcess, index: number): Promise<void> {
    const dice = createDice(seed * 7_919 + index)
    while (done.filter(isKill).length < kills && !signal.aborted) {
      const name =
        killing.length === 0 || (others.length > 0 && dice.chance(0.15))
          ? dice.oneOf(others)
          : dice.oneOf(killing)
      await one(name, server, index)
      await sleep(dice.below(LONGEST_PAUSE_MS))
    }

    async function one(name: string, target: ServerProcess, place: number): Promise<void> {
      const ofStore = storeFaults[name]
      // Two faults of the store at the same time would repair each other.
      if (ofStore && (isStoreFaulty || place > 0)) return
      isStoreFaulty ||= ofStore !== undefined
      const inject: Inject | undefined = ofStore ? ofStore.inject(store) : processFaults[name]
      const injected = await inject?.(target, dice)
      if (ofStore) isStoreFaulty = false
      if (!injected) return
      const fault = { until: Date.now(), ...injected }
      done.push(fault)
      onFault(fault)
    }
  }

  await Promise.all(servers.map(injectInto))
  return done
}
