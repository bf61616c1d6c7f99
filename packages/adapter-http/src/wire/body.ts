import { z } from 'zod'

type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Immutable<T[K]> }
    : T

/** What a mapper makes for an answer that has this schema: so the code and the OpenAPI document cannot part. */
export type BodyOf<Schema extends z.ZodType> = Immutable<z.output<Schema>>

/** An id, as answers have it. */
export const uuid = z.uuid()
/** An instant, as answers have it: ISO 8601 in UTC with milliseconds. */
export const at = z.iso.datetime()
export const count = z.int().min(0)
