import type { RunOutcome } from '../domain/run.js'
import { parseRunUsage, type RunUsage } from '../domain/usage.js'

/** Adds tokens of a model to the usage of the run. Each call of a model can report its own. */
export type ReportUsage = (usage: RunUsage) => void

/** The usage that a function reports during its run. */
export class UsageReport {
  #sum: RunUsage | undefined

  readonly report: ReportUsage = (usage) => {
    const added = parseRunUsage(usage)
    if (!added) return
    const { inputTokens: input, outputTokens: output } = this.#sum ?? {}
    const { inputTokens = input === undefined ? undefined : 0 } = added
    const { outputTokens = output === undefined ? undefined : 0 } = added
    this.#sum = {
      ...(inputTokens !== undefined && { inputTokens: inputTokens + (input ?? 0) }),
      ...(outputTokens !== undefined && { outputTokens: outputTokens + (output ?? 0) }),
    }
  }

  addTo(outcome: RunOutcome): RunOutcome {
    return this.#sum && outcome.kind !== 'deferred' ? { ...outcome, usage: this.#sum } : outcome
  }
}
