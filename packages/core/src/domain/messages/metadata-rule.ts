import type { Rule } from '../values/input-rules.js'
import { isJsonObject, jsonProblem } from '../values/json.js'
import type { Limits } from '../values/limits.js'

export function metadataRule(metadata: unknown, limits: Limits): Rule {
  if (metadata === undefined) return undefined
  if (!isJsonObject(metadata)) return 'must be an object'
  const problem = jsonProblem(metadata, limits.metadataDepth)
  if (problem !== undefined) return problem
  return JSON.stringify(metadata).length > limits.metadataLength
    ? `must have at most ${limits.metadataLength} characters as JSON`
    : undefined
}
