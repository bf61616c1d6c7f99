import { isAccepted } from './acknowledged.js'
import { groupBy } from './group-by.js'
import type { Invariant } from './violation.js'

/** 2. Each key has one message, even if sends are repeated. Clients get the same final answer. */
export const onePerKey: Invariant = function* ({ requests, final }) {
  const keyed = requests.filter((request) => request.key !== undefined && isAccepted(request))
  for (const [key, sends] of groupBy(keyed, (request) => `${request.agent} ${request.key}`)) {
    const ids = new Set(sends.map(({ answer }) => answer?.messageId))
    if (ids.size > 1) yield { of: key, problem: `clients got ${ids.size} message ids for one key` }
  }
  const kept = final.messages.filter(({ key }) => key !== undefined)
  for (const [key, messages] of groupBy(kept, (message) => `${message.agent} ${message.key}`))
    if (messages.length > 1) yield { of: key, problem: `${messages.length} messages have one key` }

  const stored = new Map(final.messages.map(({ messageId, response }) => [messageId, response]))
  for (const { answer } of requests) {
    if (
      answer?.messageId === undefined ||
      answer.response === undefined ||
      !stored.has(answer.messageId)
    )
      continue
    if (stored.get(answer.messageId) !== answer.response)
      yield { of: answer.messageId, problem: 'a client got an answer that is not the final one' }
  }
}
