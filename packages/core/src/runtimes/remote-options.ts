import { given } from '../domain/values/given.js'
import { integerRule, IS_REQUIRED } from '../domain/values/input-rules.js'
import { isJsonObject, type JsonObject } from '../domain/values/json.js'
import { withNearest } from '../domain/values/nearest-name.js'
import {
  customHeadersProblem,
  customHeadersSchema,
  type CustomHeaders,
} from '../domain/webhooks/custom-headers.js'
import type { ParsedOptions, RuntimeOptionsSchema } from '../ports/agent-runtime.js'
import { failure, success, type PortResult } from '../ports/port-result.js'

const HEADER_LIMITS = { maxHeaders: 32, maxValueLength: 8 * 1024 }

/** The options of every agent behind a URL, as its document describes them. */
export const remoteOptions = {
  headers: { ...customHeadersSchema(HEADER_LIMITS), description: 'Sent to the agent. Secret.' },
  timeoutMs: {
    type: 'integer',
    minimum: 1,
    maximum: 24 * 3_600_000,
    description: 'The time for one answer. Absent: the deadline of the run.',
  },
} as const

/** Describes the options of a kind, for the API's document. `description`: what the URL is. */
export const remoteOptionsSchema = (description: string): RuntimeOptionsSchema => ({
  properties: { url: { type: 'string', format: 'uri', description }, ...remoteOptions },
  required: ['url'],
  additionalProperties: false,
})

/** Says that a kind of agents has no such option. */
export const unknownOption = (name: string, known: readonly string[], kind: string): string =>
  `${withNearest(name, known)} is not an option of ${kind} agents`

/**
 * Checks the text of the options, but not whether the URL is reachable. `headerPrefix` starts the
 * names of the service's own headers.
 */
export function parseRemoteOptions(
  kind: string,
  { url, headers, timeoutMs, ...others }: JsonObject,
  headerPrefix?: string,
): PortResult<ParsedOptions & { readonly url: string }, string> {
  const [unknown] = Object.keys(others)
  const { minimum, maximum } = remoteOptions.timeoutMs
  if (typeof url !== 'string')
    return failure(`url ${url === undefined ? IS_REQUIRED : 'must be a string'}`)
  const problem =
    (headers !== undefined && agentHeadersProblem(headers, headerPrefix)) ||
    (timeoutMs !== undefined && withName('timeoutMs', integerRule(timeoutMs, minimum, maximum))) ||
    (unknown !== undefined && unknownOption(unknown, ['url', 'headers', 'timeoutMs'], kind))
  if (problem) return failure(problem)
  return success({
    url,
    options: { url, ...given({ headers: headers && { set: true }, timeoutMs }) },
    secrets: given({ headers }),
  })
}

const withName = (name: string, rule: string | undefined) => rule && `${name} ${rule}`

/** Returns the problem with the headers of an agent, as a sentence. */
export function agentHeadersProblem(headers: unknown, headerPrefix?: string): string | undefined {
  if (!isJsonObject(headers)) return 'headers must be an object'
  for (const [name, value] of Object.entries(headers))
    if (typeof value !== 'string') return `headers.${name} must be a string`
  const rules = { ...HEADER_LIMITS, ...given({ headerPrefix }) }
  const problem = customHeadersProblem(headers as CustomHeaders, rules)
  return problem && withName(problem.path, problem.message)
}
