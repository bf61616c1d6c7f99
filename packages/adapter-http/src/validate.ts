import { zValidator } from '@hono/zod-validator'
import type { Context } from 'hono'
import type { z } from 'zod'
import { noted } from './document/describe-route.js'
import { refuse } from './errors.js'
import type { Env } from './env.js'

// Shapes are checked here (types, and what must be there); sizes and rules are the service's, so that embedders meet them too.

/** The JSON body, as `readJson` left it. Fields that the schema does not name are dropped. */
export const validBody = <S extends z.ZodType>(schema: S) =>
  noted(zValidator('json', schema, refuseInvalid, compiled), { body: schema, errors: ['invalid'] })

export const validQuery = <S extends z.ZodType>(schema: S) =>
  noted(zValidator('query', schema, refuseInvalid, compiled), {
    query: schema,
    errors: ['invalid'],
  })

/** zod's compiled parser is the synchronous one; the validator would call `safeParseAsync`. For a generic schema its result type cannot be met. */
const compiled = {
  validationFunction: (schema: z.ZodType, value: unknown) => schema.safeParse(value) as never,
}

/** A list of a hundred thousand wrong items would be answered with a hundred times its size. */
const MOST_ISSUES = 20

function refuseInvalid(
  result: { success: true } | { success: false; error: z.core.$ZodError },
  c: Context,
) {
  if (result.success) return undefined
  const issues = result.error.issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message }) => ({ path: path.join('.') || 'body', message }))
  return refuse(c as Context<Env>, { kind: 'invalid', issues })
}
