import type { Message, SessionSummary, Page } from '@org/agent-messaging-core'
import type { Turn } from '@org/agent-messaging-core/runtime'
import { changedAt, progressOf, statusOf } from '@org/agent-messaging-core/host'
import {
  isInScope,
  newestThatFit,
  turnsOf,
  matchesSearch,
  type HistoryOf,
  type InScope,
  type SessionScope,
  type MessageFilter,
  type MessageSearch,
  type SessionsOf,
  type PageOf,
} from '@org/agent-messaging-core/storage'
import { ofProject, type Memory, type MessageRow, type Session } from './memory.js'
import { newestFirst, oldestFirst } from './memory-page.js'
import { findSession, sessionOf } from './memory-sessions.js'

/** Messages that `history` reads at most. */
const MOST_ROWS = 5_000

export function history(memory: Memory, { messageId, ...limit }: HistoryOf): Turn[] {
  const row = memory.messages.get(messageId)
  return row ? newestThatFit(turnsBefore(sessionOf(memory, row.message), row), limit) : []
}

function turnsBefore({ all }: Session, row: MessageRow): Turn[] {
  const past = all.slice(0, all.indexOf(row) + 1).slice(-MOST_ROWS)
  return past.reverse().flatMap((one) => {
    const { message, earlierTurns = [] } = one
    const { state } = message
    const isAnswered = one !== row && state.kind === 'responded'
    const response = isAnswered ? state.response : null
    return [...turnsOf({ ...message, messageId: message.id, response, earlierTurns })]
  })
}

export function listMessages(memory: Memory, filter: MessageFilter, page: PageOf): Page<Message> {
  const { agentId, sessionId, order = 'desc' } = filter
  const inOrder = order === 'asc' ? oldestFirst : newestFirst
  const session = sessionId === undefined ? undefined : findSession(memory, { agentId, sessionId })
  const inPlace = session && behind(session, page, order)
  const rows = inPlace ?? [...memory.messages.values()]
  const found = rows.map(({ message }) => message).filter((message) => matches(message, filter))
  if (!inPlace) return inOrder(found, page)
  const data = found.slice(0, page.limit)
  return { data, nextCursor: found.length > page.limit ? (data.at(-1)?.id ?? null) : null }
}

export function countListed(memory: Memory, filter: MessageFilter, most: number): number {
  const rows = [...memory.messages.values()].filter(({ message }) => matches(message, filter))
  return Math.min(rows.length, most)
}

export function searchMessages(memory: Memory, search: MessageSearch, page: PageOf): Page<Message> {
  const found = [...memory.messages.values()]
    .map(({ message }) => message)
    .filter((message) => matchesSearch(message, search))
  if (search.sessionId === undefined) return newestFirst(found, page)
  // The newest session first, and in it the newest place.
  const sessions = [...memory.sessions.values()].toReversed()
  const ids = new Set(found.map(({ id }) => id))
  const inOrder = sessions
    .flatMap(({ all }) => all.toReversed().map(({ message }) => message))
    .filter(({ id }) => ids.has(id))
  const place = inOrder.findIndex(({ id }) => id === page.cursor)
  if (page.cursor !== undefined && place === -1) return newestFirst(inOrder, page)
  const data = inOrder.slice(place + 1, place + 1 + page.limit)
  const isLast = place + 1 + page.limit >= inOrder.length
  return { data, nextCursor: isLast ? null : (data.at(-1)?.id ?? null) }
}

/**
 * Returns the session's messages after the cursor, or undefined if the cursor is not in the
 * session.
 */
function behind(
  { all }: Session,
  { cursor }: PageOf,
  order: 'asc' | 'desc',
): MessageRow[] | undefined {
  const rows = order === 'asc' ? [...all] : all.toReversed()
  if (cursor === undefined) return rows
  const index = rows.findIndex(({ message }) => message.id === cursor)
  return index === -1 ? undefined : rows.slice(index + 1)
}

export function listSessions(
  memory: Memory,
  { projectId, agentId, scope }: SessionsOf & InScope,
  page: PageOf,
): Page<SessionSummary> {
  const agent = ofProject(memory.agents.get(agentId), projectId)
  const sessions = [...memory.sessions.values()].filter(
    (session) => session.agentId === agent?.id && isSeen(session, scope),
  )
  const { data, nextCursor } = newestFirst(sessions.map(summaryOf), page)
  return { data: data.map(({ id: _, ...summary }) => summary), nextCursor }
}

/** The id of the newest message orders the sessions. */
function summaryOf({ sessionId, all, open }: Session): SessionSummary & { readonly id: string } {
  const messages = all.map(({ message }) => message)
  const lastMessageId = messages.reduce((newest, { id }) => (id > newest ? id : newest), '')
  const lastMessageAt = Math.max(...messages.map(({ createdAt }) => createdAt))
  return { id: lastMessageId, sessionId, openCount: open.length, lastMessageId, lastMessageAt }
}

const isSeen = ({ sessionId }: { readonly sessionId: string }, scope?: SessionScope): boolean =>
  scope === undefined || isInScope(scope, sessionId)

const matches = (
  message: Message,
  { projectId, agentId, sessionId, scope, status, state, progress, changedFrom }: MessageFilter,
): boolean =>
  message.projectId === projectId &&
  message.agentId === agentId &&
  (sessionId === undefined || message.sessionId === sessionId) &&
  isSeen(message, scope) &&
  (status === undefined || statusOf(message.state) === status) &&
  (state === undefined || message.state.kind === state) &&
  (progress === undefined || progressOf(message) === progress) &&
  (changedFrom === undefined || changedAt(message) >= changedFrom)
