import type { JsonObject } from '@org/agent-messaging-core'
import {
  isJsonObject,
  isStorableText,
  isUuid,
  orMissing,
  unknownFields,
} from '@org/agent-messaging-core/runtime'
import { INSTANT_RULE } from '@org/agent-messaging-core/host'
import { z } from 'zod'

/** The fields of a JSON body, or of an object in it. Unknown fields are refused. */
export const fieldsOf = <Shape extends z.ZodRawShape>(
  shape: Shape,
  problem = 'must be a JSON object',
) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? unknownFields(issue.keys, Object.keys(shape)) : problem,
  })

/** The fields of a body that the document has under this name. */
export const namedFields = <Shape extends z.ZodRawShape>(
  id: string,
  shape: Shape,
  notes: object = {},
) => fieldsOf(shape).meta({ ...notes, id })

/** The named fields of a creation. */
export const creationOf = <Shape extends z.ZodRawShape>(
  id: string,
  shape: Shape,
  notes: object = {},
) => namedFields(id, nullAsAbsent(shape), notes)

/** A pattern for documents. Generated clients do not compile if the pattern has NUL itself. */
export const NO_NUL = '^[^\\x00]*$'

/** Keeps the very object that was sent: a copy could lose or assign a key such as `__proto__`. */
export const jsonObject = z
  .custom<JsonObject>(isJsonObject, orMissing('must be an object'))
  .meta({ shown: { type: 'object', propertyNames: { pattern: NO_NUL } } })

export const text = z.string(orMissing('must be a string'))

/** For documents: the service checks these rules. */
export const textOf = (maxLength: number) => ({ minLength: 1, maxLength, pattern: NO_NUL })
export const boolean = z.boolean('must be true or false')
export const number = z.number('must be a number')

export const id = text.refine(isUuid, 'must be a UUID').toLowerCase().meta({ format: 'uuid' })

/** Text to look for. */
export const storableText = text
  .refine(isStorableText, 'must not contain NUL')
  .meta({ pattern: NO_NUL })

/** The filters of lists over all agents. */
export const ofAgentAndUser = {
  agent: storableText.optional().describe('The agent with this id or name.'),
  endUserId: storableText.optional().describe('The end user of the principal.'),
}

/** ISO 8601 with a time zone. Gives milliseconds since 1970. */
export const instant = z.iso
  .datetime({
    offset: true,
    error: INSTANT_RULE,
  })
  .transform((at) => Date.parse(at))

type OrNull<Field extends z.ZodType> = z.ZodPipe<
  z.ZodNullable<Field>,
  z.ZodTransform<z.output<Field> | undefined, z.output<Field> | null>
>
type Creation<Shape extends z.ZodRawShape> = {
  [K in keyof Shape]: Shape[K] extends z.ZodOptional
    ? null extends z.input<Shape[K]>
      ? Shape[K]
      : OrNull<Shape[K]>
    : Shape[K]
}

/**
 * The fields of a creation: null for an optional field means that the field is absent. Clients of
 * some languages write null for each field that is not set.
 */
export const nullAsAbsent = <Shape extends z.ZodRawShape>(shape: Shape): Creation<Shape> =>
  Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [
      name,
      field instanceof z.ZodOptional && !field.isNullable() ? orNull(field) : field,
    ]),
  ) as Creation<Shape>

const orNull = (field: z.ZodOptional) => field.nullable().transform((given) => given ?? undefined)

/** Removes fields that are null. */
export function withoutNulls(given: JsonObject): JsonObject {
  const fields = Object.entries(given)
  const kept = fields.filter(([, value]) => value !== null)
  return kept.length === fields.length ? given : Object.fromEntries(kept)
}

/** The parameters of a request's query. Other names are refused, and so is a repeated one. */
export const query = <T extends z.ZodRawShape>(parameters: T) => {
  const known = Object.keys(parameters).join(', ')
  return z.strictObject(parameters, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has unknown parameters: ${issue.keys.join(', ')}. Known parameters: ${known}`
        : undefined,
  })
}

/** `limit` and `cursor` of a list. */
export const paging = {
  limit: text
    .regex(/^(?:[1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .transform(Number)
    .default(50)
    .meta({
      description: 'The most rows of the page.',
      shown: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    }),
  cursor: id.optional().describe('The `nextCursor` of the previous page.'),
}

/** The query of a list. */
export const page = query(paging)

export const oneOf = <const T extends readonly string[]>(words: T) =>
  z.enum(words, orMissing(`must be one of: ${words.join(', ')}`))

/** `?parts=true` of a list. */
export const parts = oneOf(['true', 'false'])
  .optional()
  .meta({
    description: '`true`: with the parts of answers.',
    shown: { type: 'boolean', default: false },
  })

/** `?force=true` of a deletion that would delete unfinished work. */
export const forced = query({
  force: oneOf(['true', 'false'])
    .optional()
    .meta({
      description: '`true`: deletes messages that are not final too.',
      shown: { type: 'boolean', default: false },
    }),
})
