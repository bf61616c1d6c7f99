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

/** Returns true if the run ended its message. A run that lost its lease ends no message. */
const ended = (run: AgentRun, { state, response, attempt, isLost }: FinalMessage): boolean =>
  response === undefined
    ? state !== 'cancelled' && !isLost && run.attempt === attempt
    : run.response === response
