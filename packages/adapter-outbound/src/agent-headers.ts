import { customHeadersProblem, type CustomHeaders } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'

const LIMITS = { maxHeaders: 32, maxValueLength: 8 * 1024 }

/** The option `headers` of agents that are reached by HTTP. */
export const agentHeaders = z.record(z.string(), z.string('must be a string'), 'must be an object')

/**
 * Why these headers cannot be sent along, as a sentence that begins with the field's name; `headerPrefix` begins the names of our own,
 * where we have any.
 */
export function headersProblem(headers: CustomHeaders, headerPrefix?: string): string | undefined {
  const problem = customHeadersProblem(headers, {
    ...LIMITS,
    ...(headerPrefix !== undefined && { headerPrefix }),
  })
  return problem && `${problem.path} ${problem.message}`
}
