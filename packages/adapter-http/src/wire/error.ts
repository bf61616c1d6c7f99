import { z } from 'zod'
import type { BodyOf } from './body.js'

export const statuses = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  AGENT_NOT_RUNNING: 409,
  CONFLICT: 409,
  GONE: 410,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_MISMATCH: 422,
  TOO_MANY_REQUESTS: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const
export type ErrorCode = keyof typeof statuses

const code = z.enum(Object.keys(statuses) as ErrorCode[]).meta({ description: 'For programs.' })
const issue = z.object({ path: z.string(), message: z.string() })

export const errorSchema = z
  .object({
    error: z.object({
      code,
      message: z.string().meta({ description: 'For people. The text can change.' }),
      issues: z
        .array(issue)
        .optional()
        .meta({ description: 'The problems of the request, by field.' }),
    }),
    requestId: z.string(),
  })
  .meta({ id: 'Error' })

/** Programs use the code. The message is for people and can change. */
export type ErrorBody = BodyOf<typeof errorSchema>
