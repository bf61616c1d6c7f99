import { callerOf, RequestRefusal, type KitContext } from '@org/agent-messaging-http-kit'
import { problem } from '../fields.js'
import type { Input } from '../input.js'
import type { Deps } from '../options.js'
import type { ResponseRequest } from './request.js'
import { readNamed } from './references.js'

/** A message's session, or undefined for a new one, and its input with the past of that session. */
export type Place = {
  readonly sessionId: string | undefined
  readonly input: Input
  /** For a branch: the place behind the newest message of the session that it leaves. */
  readonly original?: Omit<Place, 'original'>
}

/** The limits of a history of at most `length` characters. The service counts with 32 bits. */
export const historyLimit = (length: number) => ({
  maxTurns: 1_000,
  maxLength: Math.max(0, Math.min(length, 2 ** 31 - 1)),
})
const PREVIOUS = 'previous_response_id'

/**
 * Returns the place of a request. A request behind the newest response of a session belongs to that
 * session. An older response starts a branch: a new session, whose past is the turns up to that
 * response.
 */
export async function placeOf(
  c: KitContext,
  d: Deps,
  { agent, input, previous, sessionId }: ResponseRequest,
): Promise<Place> {
  if (!previous) return { sessionId, input }
  const { service } = d
  const caller = callerOf(c)
  const { agent: agentId, messageId } = previous
  const ref = { ...caller, agent: agentId, messageId }
  const found = await readNamed(c, d, previous, PREVIOUS)
  const named = await service.agents.get({ ...caller, agent })
  if (named.id !== agentId)
    throw new RequestRefusal(
      problem(PREVIOUS, 'names a response of another agent. A conversation has one agent'),
    )

  const session = { ...caller, agent: agentId, sessionId: found.sessionId }
  const page = { limit: 1, cursor: messageId }
  const later = await service.messages.list({ ...session, order: 'asc', ...page })
  const original = { sessionId: session.sessionId, input }
  if (later.data.length === 0) return original
  const maxLength = service.policy.limits.earlierTurnsLength - lengthOf(input)
  const past = await service.messages.history({ ...ref, ...historyLimit(maxLength) })
  const turns = past.map(({ message, response }) => ({ message, response }))
  const earlierTurns = [...turns, ...input.earlierTurns]
  return { sessionId: undefined, input: { ...input, earlierTurns }, original }
}

const lengthOf = ({ earlierTurns }: Input): number =>
  earlierTurns.reduce((sum, { message, response }) => sum + message.length + response.length, 0)
