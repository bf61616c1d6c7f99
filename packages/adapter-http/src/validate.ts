import { zValidator } from '@hono/zod-validator'
import type { Context } from 'hono'
import type { z } from 'zod'
import { annotated } from './document/describe-route.js'
import type { Env } from './env.js'
import { refuse } from './errors.js'

// This layer checks types and required fields. The service checks sizes and rules, for embedders
// too.

/** Checks the JSON body that `readJson` has read. */
export const validBody = <S extends z.ZodType>(schema: S) =>
  annotated(zValidator('json', schema, refuseInvalid, synchronous), {
    body: schema,
    errors: ['invalid'],
  })

/** Checks the query. Make the schema with `query`. */
export const validQuery = <S extends z.ZodType>(schema: S) =>
  annotated(zValidator('query', schema, refuseInvalidQuery, synchronous), {
    query: schema,
    errors: ['invalid'],
  })

/** Only zod's synchronous parser is compiled. The validator calls `safeParseAsync` by default. */
const synchronous = {
  // TypeScript cannot match the result type of a generic schema.
  validationFunction: (schema: z.ZodType, value: unknown) => schema.safeParse(value) as never,
}

/** Without this limit, a list of 100,000 wrong items gets an answer of 100 times its size. */
const MAX_ISSUES = 20

type Checked = { data: unknown } & ({ success: true } | { success: false; error: z.core.$ZodError })

const refuseInvalid = (result: Checked, c: Context) => refuseUnless(result, c, 'body')
const refuseInvalidQuery = (result: Checked, c: Context) => refuseUnless(result, c, 'query')

/** `whole` names the input in an issue that is about no single field. */
function refuseUnless(result: Checked, c: Context, whole: 'body' | 'query') {
  if (result.success) return undefined
  const issues = result.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
    path: path.join('.') || whole,
    message: whole === 'query' && isRepeated(result.data, path) ? 'must be given once' : message,
  }))
  return refuse(c as Context<Env>, { kind: 'invalid', issues })
}

/** Hono's validator gives a repeated parameter as a list. */
const isRepeated = (query: unknown, [name]: readonly PropertyKey[]): boolean =>
  name !== undefined && Array.isArray((query as Record<PropertyKey, unknown>)[name])
