/** Agents that are to stop, and whose runs are waited for: nobody need wait until then to have them stay. */
export type Departures = {
  /** Whether the runs have ended, or the wait was called off before that. */
  wait(agentId: string, runsEnded: Promise<void>): Promise<boolean>
  /** Ends the wait for an agent's runs, if there is one. */
  callOff(agentId: string): void
}

export function createDepartures(): Departures {
  const waits = new Map<string, () => void>()
  return {
    async wait(agentId, runsEnded) {
      const calledOff = new Promise<boolean>((resolve) => waits.set(agentId, () => resolve(false)))
      const haveEnded = await Promise.race([runsEnded.then(() => true), calledOff])
      waits.delete(agentId)
      return haveEnded
    },
    callOff: (agentId) => waits.get(agentId)?.(),
  }
}
