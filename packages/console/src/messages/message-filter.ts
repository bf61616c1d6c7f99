import { isStorableText, isUuid, toIso } from '@org/agent-messaging-core/runtime'
import type { SearchMessagesInput } from '@org/agent-messaging-core'
import { z } from 'zod'
import { instantOf, optional } from '../parts/filter.js'
import { BASE } from '../options.js'

export const STATES = [
  'queued',
  'running',
  'deferred',
  'input_required',
  'responded',
  'failed',
  'cancelled',
] as const

const text = optional(
  z
    .string()
    .trim()
    .refine((value) => value !== '' && isStorableText(value)),
)

const schemaIn = (zone: string) =>
  z.object({
    state: optional(z.enum(STATES)),
    id: optional(z.string().refine(isUuid).toLowerCase()),
    session: text,
    user: text,
    correlation: text,
    text,
    from: optional(instantOf(zone)),
    to: optional(instantOf(zone)),
  })

/** The messages that an address or a form selects. */
export type MessageFilter = Partial<z.output<ReturnType<typeof schemaIn>>>

export const messageFilterIn = (
  fields: Readonly<Record<string, unknown>>,
  zone: string,
): MessageFilter => schemaIn(zone).parse(fields)

export const searchOf = (
  projectId: string,
  { state, id, session, user, correlation, text: part, from, to }: MessageFilter,
): Omit<SearchMessagesInput, 'page'> => ({
  projectId,
  state,
  messageId: id,
  sessionId: session,
  endUserId: user,
  correlationId: correlation,
  text: part,
  createdAfter: from,
  createdBefore: to,
})

/** Returns the address of the list of the messages that match. */
export function messagesPath({ from, to, ...others }: MessageFilter): string {
  const fields = {
    ...others,
    from: from === undefined ? undefined : toIso(from),
    to: to === undefined ? undefined : toIso(to),
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) query.set(name, value)
  return query.size === 0 ? `${BASE}/messages` : `${BASE}/messages?${query.toString()}`
}
