import { groupBy } from './group-by.js'
import type { AgentRun, FinalMessage } from './history.js'
import { queued } from './queued.js'
import type { Invariant } from './violation.js'

/** 8. In each session, a message runs only after the message before it has ended. */
export const sessionOrder: Invariant = function* ({ runs, final }) {
  const byMessage = groupBy(runs, queued)
  for (const messages of groupBy(
    final.messages,
    ({ agent, sessionId }) => `${agent} ${sessionId}`,
  ).values()) {
    let endOfLast = -Infinity
    for (const message of messages) {
      const own = byMessage.get(queued(message)) ?? []
      if (own.some(({ startedAt }) => startedAt < endOfLast))
        yield {
          of: message.messageId,
          problem: 'the message ran before the end of the message ahead of it',
        }
      endOfLast = Math.max(
        endOfLast,
        ...own
          .filter((run) => ended(run, message))
          .map(({ startedAt, endedAt = startedAt }) => endedAt),
      )
    }
  }
}

/** Failures whose last run can still go on: it was lost, or did not call back in time. */
const ABANDONED: readonly unknown[] = ['RUNTIME_LOST', 'RUNTIME_TIMEOUT']

/** Returns true if the run ended its message. An abandoned run ends no message. */
const ended = (run: AgentRun, { state, response, attempt, errorCode }: FinalMessage): boolean =>
  response === undefined
    ? state !== 'cancelled' && !ABANDONED.includes(errorCode) && run.attempt === attempt
    : run.response === response
