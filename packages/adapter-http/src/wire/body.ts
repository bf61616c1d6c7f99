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

/** What else the document says about a schema. */
type Notes = Omit<z.GlobalMeta, 'id'>

/** An object that the document, and the types of a generator, have under this name. */
export const named = <Shape extends z.ZodRawShape>(id: string, shape: Shape, notes: Notes = {}) =>
  z.object(shape).meta({ ...notes, id })

/** A list of words with a name. */
export const namedEnum = <const Words extends readonly string[]>(id: string, words: Words) =>
  z.enum(words).meta({ id })
