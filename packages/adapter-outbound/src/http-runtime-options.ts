import { orMissing, type JsonObject, type ParsedOptions } from '@org/agent-messaging-core/runtime'
import { err, ok, type Result } from 'neverthrow'
import { z } from 'zod'
import {
  agentHeaders,
  describeProblem,
  headersProblem,
  optionsSchemaOf,
  timeoutMs,
} from './option-rules.js'

const options = z.strictObject({
  url: z
    .string(orMissing('must be a string'))
    .meta({ format: 'uri', description: 'Gets a POST for each run.' }),
  headers: agentHeaders.optional(),
  timeoutMs: timeoutMs.optional(),
})

export const httpOptionsSchema = () => optionsSchemaOf(options)

/** Checks the text of the options, but not whether the URL is reachable. Headers are secrets. */
export function parseHttpOptions(
  input: JsonObject,
  headerPrefix: string,
): Result<ParsedOptions & { readonly url: string }, string> {
  const parsed = options.safeParse(input)
  if (!parsed.success)
    return err(describeProblem(parsed.error, { kind: 'http', known: options.shape }))
  const { url, headers, timeoutMs } = parsed.data
  const problem = headersProblem(headers ?? {}, headerPrefix)
  if (problem !== undefined) return err(problem)
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
