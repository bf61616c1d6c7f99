import { EVENT_NAMES } from '@org/agent-messaging-core'
import { isUuid, toIso } from '@org/agent-messaging-core/runtime'
import type { DeliveryFilter } from '@org/agent-messaging-core'
import { z } from 'zod'

export const STATUSES = ['pending', 'delivered', 'exhausted', 'cancelled'] as const
export const EVENTS = [...EVENT_NAMES, 'webhook.test'] as const
export const ANSWERS = ['2xx', '3xx', '4xx', '5xx', 'none'] as const

/** An empty field does not filter, nor does one that makes no sense: addresses are typed by hand too. */
const optional = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined)
/** As a `datetime-local` field has it, in UTC; or a whole instant. */
const instant = z.iso
  .datetime({ local: true })
  .or(z.iso.datetime({ local: true, precision: -1 }))
  .transform((at) => Date.parse(at.endsWith('Z') ? at : `${at}Z`))

const filterSchema = z.object({
  status: optional(z.enum(STATUSES)),
  webhook: optional(z.string().refine(isUuid).toLowerCase()),
  event: optional(z.enum(EVENTS)),
  answer: optional(z.enum(ANSWERS)),
  from: optional(instant),
  to: optional(instant),
})

/** What an address or a form says of which deliveries are meant. */
export type Filter = z.output<typeof filterSchema>

export const filterIn = (fields: Readonly<Record<string, unknown>>): Filter =>
  filterSchema.parse(fields)

export const deliveryFilter = (
  projectId: string,
  { status, webhook, event, answer, from, to }: Filter,
): DeliveryFilter => ({
  projectId,
  ...(status && { status }),
  ...(webhook !== undefined && { webhookId: webhook }),
  ...(event && { event }),
  ...(answer && { lastAnswer: answer }),
  ...(from !== undefined && { createdAfter: from }),
  ...(to !== undefined && { createdBefore: to }),
})

/** The fields that say the same again, in a form or an address. */
export function fieldsOf({ from, to, ...words }: Filter): Readonly<Record<string, string>> {
  const fields = {
    ...words,
    from: from === undefined ? undefined : toIso(from),
    to: to === undefined ? undefined : toIso(to),
  }
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  )
}

/** As a `datetime-local` field takes it. */
export const fieldTime = (at: number | undefined): string =>
  at === undefined ? '' : new Date(at).toISOString().slice(0, 16)
