import { statusOf, type Message } from '../domain/messages/message.js'
import { isInScope } from '../domain/access/access.js'
import { idEndIn } from '../domain/values/input-rules.js'
import { isEndUser } from '../domain/access/principal.js'
import type { MessageSearch } from '../ports/message-store.js'

/** True if the search finds the message. */
export const matchesSearch = (message: Message, search: MessageSearch): boolean =>
  matchesFields(message, search) && (search.text === undefined || hasText(message, search.text))

/** True if the message matches in everything except the text. */
export function matchesFields(message: Message, search: MessageSearch): boolean {
  const { createdAfter = -Infinity, createdBefore = Infinity, endUserId } = search
  const { agentIds, scope } = search
  const isEqual = <T>(wanted: T | undefined, value: T | undefined): boolean =>
    wanted === undefined || wanted === value
  return (
    message.projectId === search.projectId &&
    isEqual(search.messageId, message.id) &&
    isEqual(search.sessionId, message.sessionId) &&
    (scope === undefined || isInScope(scope, message.sessionId)) &&
    (agentIds === undefined || agentIds.includes(message.agentId)) &&
    isEqual(search.correlationId, correlationIdOf(message)) &&
    isEqual(search.status, statusOf(message.state)) &&
    isEqual(search.state, message.state.kind) &&
    (endUserId === undefined || isEndUser(message.executionPrincipal, endUserId)) &&
    message.createdAt >= createdAfter &&
    message.createdAt < createdBefore
  )
}

function correlationIdOf({ metadata }: Message): string | undefined {
  const id = metadata?.['correlationId']
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}

function hasText({ id, sessionId, message, state }: Message, text: string): boolean {
  const wanted = inLowerCase(text)
  const idEnd = idEndIn(text)
  const answer = state.kind === 'responded' ? state.response : ''
  const isIn = (one: string) => inLowerCase(one).includes(wanted)
  return [message, answer, sessionId].some(isIn) || (idEnd !== undefined && id.endsWith(idEnd))
}

/** The databases change the case of ASCII letters only. */
const inLowerCase = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

/** A page of a search for a text reads this many bytes of texts at most. */
export const MOST_TEXT_BYTES = 4 * 1024 * 1024

/** How a store finds the messages of a search. */
export type SearchPath =
  | 'message'
  | 'session'
  | 'scope'
  | 'correlation'
  | 'end_user'
  | 'asking'
  | 'open'
  | 'time'
  | 'all'

/** Chooses the condition that leaves the fewest rows. */
export function searchPath(search: MessageSearch): SearchPath {
  const { scope, endUserId, status, state, createdAfter, createdBefore } = search
  if (search.messageId !== undefined) return 'message'
  if (search.sessionId !== undefined) return 'session'
  // The cursor of a page is the last message on the path, so the path stays in the scope.
  if (scope !== undefined) return 'scope'
  if (search.correlationId !== undefined) return 'correlation'
  if (endUserId !== undefined) return 'end_user'
  if (state === 'input_required' && status !== 'responded') return 'asking'
  if (status === 'pending' || (state !== undefined && state !== 'responded')) return 'open'
  return createdAfter === undefined && createdBefore === undefined ? 'all' : 'time'
}
