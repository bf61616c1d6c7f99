import { faultsAround } from './excuse.js'
import { groupBy } from './group-by.js'
import type { AgentRun, History } from './history.js'
import { queued } from './queued.js'
import type { Invariant } from './violation.js'

/** 9. Only the last claim's result commits; and a message runs again only after a failure or a fault. */
export const fencing: Invariant = function* (history) {
  const byMessage = groupBy(history.runs, queued)
  for (const message of history.final.messages) {
    const { messageId: of, attempt, response } = message
    const runs = byMessage.get(queued(message)) ?? []
    const answering = runs.find((run) => response !== undefined && run.response === response)
    if (response !== undefined && !answering) yield { of, what: 'its answer is that of no run' }
    if (answering && answering.attempt !== attempt)
      yield {
        of,
        what: `attempt ${attempt} had begun, and the answer of attempt ${answering.attempt} was taken`,
      }
  }
  for (const runs of byMessage.values()) yield* needless(history, runs)
}

function* needless(history: History, unsorted: readonly AgentRun[]) {
  const runs = unsorted.toSorted((a, b) => a.attempt - b.attempt)
  for (const [index, run] of runs.entries()) {
    const before = runs[index - 1]
    if (!before) continue
    if (before.attempt === run.attempt)
      yield { of: run.messageId, what: `attempt ${run.attempt} ran twice` }
    const failed = before.endedAt !== undefined && before.response === undefined
    // A process that is stopped between its claim and its run comes late: the attempts need not begin in their order.
    const [from, to] = [
      Math.min(before.startedAt, run.startedAt),
      Math.max(before.startedAt, run.startedAt),
    ]
    if (!failed && faultsAround(history, from, to, history.rules.runLeaseMs).length === 0)
      yield {
        of: run.messageId,
        what: `attempt ${run.attempt} began, and attempt ${before.attempt} had met no fault`,
      }
  }
}
