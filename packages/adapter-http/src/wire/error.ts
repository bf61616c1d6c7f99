import { errorCodes, type ErrorCode } from '@org/agent-messaging-http-kit'
import { z } from 'zod'
import type { BodyOf } from './body.js'
import { named } from './body.js'

const code = z.enum(Object.keys(errorCodes) as ErrorCode[]).describe('For programs.')
const issue = z.object({ path: z.string(), message: z.string() })

export const errorSchema = named('Error', {
  error: z.object({
    code,
    message: z.string().describe('For people. The text can change.'),
    issues: z.array(issue).optional().describe('The problems of the request, by field.'),
  }),
  requestId: z.string(),
})

/** Programs use the code. The message is for people and can change. */
export type ErrorBody = BodyOf<typeof errorSchema>

/** The part of the reference page that explains a code. */
export const errorAnchor = (code: string): string => `error-${code}`
