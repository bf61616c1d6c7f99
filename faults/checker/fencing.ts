import { faultsAround } from './faults-around.js'
import { groupBy } from './group-by.js'
import type { AgentRun, History } from './history.js'
import { queued } from './queued.js'
import type { Invariant } from './violation.js'

/** 9. Only the last claim's result commits. Only a failure or a fault leads to another run. */
export const fencing: Invariant = function* (history) {
  const byMessage = groupBy(history.runs, queued)
  for (const message of history.final.messages) {
    const { messageId: of, attempt, response } = message
    const runs = byMessage.get(queued(message)) ?? []
    const answering = runs.find((run) => response !== undefined && run.response === response)
    if (response !== undefined && !answering) yield { of, problem: 'its answer belongs to no run' }
    if (answering && answering.attempt !== attempt)
      yield {
        of,
        problem: `attempt ${attempt} had begun, but the answer of attempt ${answering.attempt} was stored`,
      }
  }
  for (const runs of byMessage.values()) yield* unexplainedRuns(history, runs)
}

function* unexplainedRuns(history: History, unsorted: readonly AgentRun[]) {
  const runs = unsorted.toSorted((a, b) => a.attempt - b.attempt)
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1]
    if (!before) continue
    if (before.attempt === run.attempt)
      yield { of: run.messageId, problem: `attempt ${run.attempt} ran twice` }
    const failed = before.endedAt !== undefined && before.response === undefined
    // Attempts can start out of order if a process is stopped between its claim and its run.
    const from = Math.min(before.startedAt, run.startedAt)
    const to = Math.max(before.startedAt, run.startedAt)
    if (!failed && faultsAround(history, from, to, history.rules.runLeaseMs).length === 0)
      yield {
        of: run.messageId,
        problem: `attempt ${run.attempt} began, but attempt ${before.attempt} had no fault`,
      }
  }
}
