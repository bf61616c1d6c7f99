import { isJsonObject, isUuid, type JsonObject } from '@org/agent-messaging-core'
import { z } from 'zod'

/** Checked as an object and handed on as the very object that was sent: a copy could lose or assign a key such as `__proto__`. */
export const jsonObject = z.custom<JsonObject>(isJsonObject, 'must be an object')

export const text = z.string('must be a string')
export const boolean = z.boolean('must be true or false')
export const number = z.number('must be a number')

export const id = text.refine(isUuid, 'must be a UUID').toLowerCase()

/** `limit` and `cursor` of a list. */
export const paging = {
  limit: text
    .regex(/^(?:[1-9]\d?|100)$/, 'must be a whole number from 1 to 100')
    .transform(Number)
    .default(20),
  cursor: id.optional(),
}

export const oneOf = <const T extends readonly string[]>(words: T) => z.enum(words, `must be one of: ${words.join(', ')}`)

export const pageOf = ({ limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined }) => ({
  limit,
  ...(cursor !== undefined && { cursor }),
})
