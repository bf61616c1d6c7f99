import { BASE } from '../context.js'
import type { Webhook } from '@org/agent-messaging-core'
import { given, isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import { eventNameRule, LOGGED_EVENTS, recoverySettings } from '@org/agent-messaging-core/host'
import { toIso, type DeliveryFilter } from '@org/agent-messaging-core/storage'
import { z } from 'zod'
import { instantIn } from './zone.js'
import { type Field, TIME_RANGE } from './fields.js'
import { webhookLabel } from './wording.js'
import type { Form } from './input.js'

const STATUSES = recoverySettings.status.enum
const EVENTS = LOGGED_EVENTS
const ANSWERS = recoverySettings.lastAnswer.enum

/** An empty or illegal field does not filter. People type addresses by hand too. */
export const optional = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined)
/** No row is older or newer. Outside of these years, local times have no plain ISO form. */
const FIRST_YEAR = 1970
const LAST_YEAR = 9998

/** The value of a `datetime-local` field in the viewer's zone, or a whole instant. */
const instantOf = (zone: string) =>
  z.iso
    .datetime({ local: true })
    .or(z.iso.datetime({ local: true, precision: -1 }))
    .refine((at) => {
      const year = Number(at.slice(0, 4))
      return year >= FIRST_YEAR && year <= LAST_YEAR
    })
    .transform((at) => (at.endsWith('Z') ? Date.parse(at) : instantIn(zone, at)))

/** A time range of an address or a form. */
export const timeRange = (zone: string) => ({
  from: optional(instantOf(zone)),
  to: optional(instantOf(zone)),
})

export const optionalText = optional(
  z
    .string()
    .trim()
    .refine((text) => text !== '' && isStorableText(text)),
)

const filterSchema = (zone: string) =>
  z.object({
    status: optional(z.enum(STATUSES)),
    webhook: optional(z.string().refine(isUuid).toLowerCase()),
    message: optional(z.string().refine(isUuid).toLowerCase()),
    event: optional(z.string().refine((name) => eventNameRule(name) === undefined)),
    answer: optional(z.enum(ANSWERS)),
    /** Only pending deliveries of webhooks that keep theirs. No other field applies. */
    held: optional(z.literal('yes')),
    ...timeRange(zone),
  })

/** The deliveries that an address or a form selects. */
export type Filter = z.output<ReturnType<typeof filterSchema>>

/** The filter of a list, which can also ask for every answer but an accepted one. */
export type ListFilter = Omit<Filter, 'answer'> & {
  readonly answer?: Filter['answer'] | 'failed'
}
const FAILED_ANSWERS = ANSWERS.filter((answer) => answer !== '2xx')

export const filterIn = (fields: Form, zone: string): Filter => filterSchema(zone).parse(fields)

export const deliveryFilter = ({
  status,
  webhook: webhookId,
  message: messageId,
  event,
  answer: lastAnswer,
  from: createdAfter,
  to: createdBefore,
}: Filter): Omit<DeliveryFilter, 'projectId'> =>
  given({ status, webhookId, messageId, event, lastAnswer, createdAfter, createdBefore })

export const listFilterIn = (fields: Form, zone: string): ListFilter => ({
  ...filterIn(fields, zone),
  ...(fields['answer'] === 'failed' && { answer: 'failed' }),
})

/** Returns the filters that match together. The stores know one kind of answer at a time. */
export const filtersOf = ({ answer, ...others }: ListFilter): readonly Filter[] =>
  (answer === 'failed' ? FAILED_ANSWERS : [answer]).map((one) => ({ ...others, answer: one }))

type Fields = { readonly from?: number | undefined; readonly to?: number | undefined }

/** Returns a filter as the fields of a form or an address. */
export const fieldsOf = ({ from, to, ...others }: Fields): Readonly<Record<string, string>> =>
  given({
    ...others,
    from: from === undefined ? undefined : toIso(from),
    to: to === undefined ? undefined : toIso(to),
  })

/** Returns the address of the list of the deliveries that match. */
export const deliveriesPath = (filter: Partial<ListFilter>) =>
  `${BASE}/deliveries?${queryOf(filter)}`

/** Returns the address of the page that sends the matches again. */
export const recoverPath = (filter: Partial<ListFilter>) => `${BASE}/recover?${queryOf(filter)}`

const queryOf = (filter: Partial<ListFilter>) => new URLSearchParams(fieldsOf(filter)).toString()

export const ANSWER_CHOICES = ANSWERS.map(
  (answer) => [answer, answer === 'none' ? 'unreachable' : answer] as const,
)

/** The fields of a filter. */
export const filterFields = (
  webhooks: readonly Webhook[],
  answers: Field['choices'] = ANSWER_CHOICES,
) => ({
  status: { label: 'Status', any: 'any', choices: STATUSES },
  webhook: {
    label: 'Webhook',
    any: 'any',
    choices: webhooks.map((webhook) => [webhook.id, webhookLabel(webhook)] as const),
  },
  event: { label: 'Event', any: 'any', choices: EVENTS },
  answer: { label: 'Last answer', any: 'any', choices: answers },
  ...TIME_RANGE,
})
