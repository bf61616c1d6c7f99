import { z } from 'zod'

type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Immutable<T[K]> }
    : T

/**
 * The value that a mapper returns for this schema. Keeps the code and the OpenAPI document equal.
 */
export type BodyOf<Schema extends z.ZodType> = Immutable<z.output<Schema>>

/** An id in an answer. */
export const uuid = z.uuid()
/** An instant in an answer: ISO 8601 in UTC with milliseconds. */
export const at = z.iso.datetime()
export const count = z.int().min(0)
