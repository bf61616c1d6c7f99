import { zValidator } from '@hono/zod-validator'
import type { Context } from 'hono'
import type { z } from 'zod'
import { annotated } from './document/describe-route.js'
import type { Env } from './env.js'
import { refuse } from './errors.js'

// This layer checks types and required fields. The service checks sizes and rules, for embedders
// too.

/**
 * Checks the JSON body that `readJson` has read. Fields that the schema does not name are dropped.
 */
export const validBody = <S extends z.ZodType>(schema: S) =>
  annotated(zValidator('json', schema, refuseInvalid, synchronous), {
    body: schema,
    errors: ['invalid'],
  })

export const validQuery = <S extends z.ZodType>(schema: S) =>
  annotated(zValidator('query', schema, refuseInvalid, synchronous), {
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

function refuseInvalid(
  result: { success: true } | { success: false; error: z.core.$ZodError },
  c: Context,
) {
  if (result.success) return undefined
  const issues = result.error.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => ({ path: path.join('.') || 'body', message }))
  return refuse(c as Context<Env>, { kind: 'invalid', issues })
}
