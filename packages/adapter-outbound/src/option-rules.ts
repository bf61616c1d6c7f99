import {
  withNearest,
  customHeadersProblem,
  customHeadersSchema,
  type CustomHeaders,
  type RuntimeOptionsSchema,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'

const MAX_TIMEOUT_MS = 24 * 3_600_000
const HEADER_LIMITS = { maxHeaders: 32, maxValueLength: 8 * 1024 }

/** A whole number. Each error continues a sentence that starts with the field's name. */
export const wholeNumber = (min: number, max: number) =>
  z
    .int('must be a whole number')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)

/** The option `timeoutMs` of one run. */
export const timeoutMs = wholeNumber(1, MAX_TIMEOUT_MS).meta({
  description: 'The time for one answer. Absent: the deadline of the run.',
})

/** The option `headers` of an agent behind HTTP. */
export const agentHeaders = z
  .record(z.string(), z.string('must be a string'), 'must be an object')
  .meta({ ...customHeadersSchema(HEADER_LIMITS), description: 'Sent to the agent. Secret.' })

/** Describes the options of a strict schema, for the API's document. */
export const optionsSchemaOf = (schema: z.ZodType): RuntimeOptionsSchema =>
  z.toJSONSchema(schema, { io: 'input' }) as RuntimeOptionsSchema

/**
 * Returns the problem with these headers, as a sentence. `headerPrefix` starts the names of the
 * service's own headers.
 */
export function headersProblem(headers: CustomHeaders, headerPrefix?: string): string | undefined {
  const problem = customHeadersProblem(headers, {
    ...HEADER_LIMITS,
    ...(headerPrefix !== undefined && { headerPrefix }),
  })
  return problem && `${problem.path} ${problem.message}`
}

/** Describes the first problem in the options, for the caller. `known`: the options of the kind. */
export function describeProblem(
  error: z.ZodError,
  { kind, known }: { readonly kind: string; readonly known: object },
): string {
  const [issue] = error.issues
  if (issue?.code === 'unrecognized_keys') {
    const unknown = [...issue.path, issue.keys[0]].join('.')
    return `${withNearest(unknown, Object.keys(known))} is not an option of ${kind} agents`
  }
  return issue ? `${issue.path.join('.')} ${issue.message}` : 'options are not valid'
}
