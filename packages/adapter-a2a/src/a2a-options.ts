import {
  withNearest,
  customHeadersProblem,
  customHeadersSchema,
  orMissing,
  type JsonObject,
  type ParsedOptions,
  type RuntimeOptionsSchema,
} from '@org/agent-messaging-core/runtime'
import { err, ok, type Result } from 'neverthrow'
import { z } from 'zod'

const HEADER_LIMITS = { maxHeaders: 32, maxValueLength: 8 * 1024 }
const MAX_TIMEOUT_MS = 24 * 3_600_000

const options = z.strictObject({
  url: z.string(orMissing('must be a string')).meta({
    format: 'uri',
    description: 'The agent. Its card is at `/.well-known/agent-card.json` below it.',
  }),
  headers: z
    .record(z.string(), z.string('must be a string'), 'must be an object')
    .meta({ ...customHeadersSchema(HEADER_LIMITS), description: 'Sent to the agent. Secret.' })
    .optional(),
  timeoutMs: z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(MAX_TIMEOUT_MS, `must be at most ${MAX_TIMEOUT_MS}`)
    .optional()
    .meta({ description: 'The time for one answer. Absent: the deadline of the run.' }),
})

/** Describes the options, for the API's document. */
export const a2aOptionsSchema = () =>
  z.toJSONSchema(options, { io: 'input' }) as RuntimeOptionsSchema

/** Checks the text of the options, but not whether the URL is reachable. */
export function parseA2aOptions(
  input: JsonObject,
): Result<ParsedOptions & { readonly url: string }, string> {
  const parsed = options.safeParse(input)
  if (!parsed.success) return err(describeProblem(parsed.error.issues[0]))
  const { url, headers, timeoutMs } = parsed.data
  const problem = customHeadersProblem(headers ?? {}, HEADER_LIMITS)
  if (problem) return err(`${problem.path} ${problem.message}`)
  return ok({
    url,
    options: {
      url,
      ...(headers && { headers: { set: true } }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
    secrets: headers ? { headers } : {},
  })
}

function describeProblem(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') {
    const unknown = withNearest(issue.keys[0] ?? '', Object.keys(options.shape))
    return `${unknown} is not an option of a2a agents`
  }
  return issue ? `${issue.path.join('.')} ${issue.message}` : 'options are not valid'
}
