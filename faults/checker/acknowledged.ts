import { groupBy } from './group-by.js'
import type { ClientRequest } from './history.js'
import type { Invariant } from './violation.js'

/** 1. Each message that a client got a 2xx for exists as sent, and each read found it. */
export const acknowledged: Invariant = function* ({ requests, final }) {
  const stored = new Map(final.messages.map((message) => [message.messageId, message]))
  for (const [messageId, tries] of groupBy(
    requests.filter(isAccepted),
    ({ answer }) => answer?.messageId ?? '',
  )) {
    const found = stored.get(messageId)
    if (!found)
      yield {
        of: messageId,
        problem: `a client got ${tries[0]?.answer?.status}, but the message does not exist`,
      }
    else if (
      !tries.every(
        ({ message, sessionId }) => message === found.message && sessionId === found.sessionId,
      )
    )
      yield { of: messageId, problem: 'the message differs from the one that was sent' }
  }
  for (const { messageId = '', answer } of requests.filter(({ kind }) => kind === 'read'))
    if (answer?.status === 404)
      yield { of: messageId, problem: 'a read did not find the accepted message' }
}

export const isAccepted = ({ kind, answer }: ClientRequest): boolean =>
  kind === 'send' && answer !== undefined && answer.status >= 200 && answer.status < 300
