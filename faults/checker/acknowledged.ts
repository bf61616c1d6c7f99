import { groupBy } from './group-by.js'
import type { ClientRequest } from './history.js'
import type { Invariant } from './violation.js'

/** 1. What a client was told of by a 2xx is there, as it was sent; and was there at each read in between. */
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
        what: `a client got ${tries[0]?.answer?.status} for it, and it does not exist`,
      }
    else if (
      !tries.every(
        ({ message, sessionId }) => message === found.message && sessionId === found.sessionId,
      )
    )
      yield { of: messageId, what: 'it is not the message that was sent' }
  }
  for (const { messageId = '', answer } of requests.filter(({ kind }) => kind === 'read'))
    if (answer?.status === 404)
      yield { of: messageId, what: 'a client knew its id, and a read did not find it' }
}

export const isAccepted = ({ kind, answer }: ClientRequest): boolean =>
  kind === 'send' && answer !== undefined && answer.status >= 200 && answer.status < 300
