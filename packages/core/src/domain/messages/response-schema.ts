import type { Rule } from '../values/input-rules.js'
import { jsonProblem, type Json, type JsonObject } from '../values/json.js'
import { checkWithinWork, schemaProblem, WIDE_LIMITS } from './answer-schema.js'

const MAX_ANSWER_DEPTH = 32

/** The rule of the schema of a send. */
export const responseSchemaRule = (schema: unknown): Rule =>
  schema === undefined ? undefined : schemaProblem(schema, WIDE_LIMITS)

/** Returns why a text is not JSON that matches the schema, or undefined. */
export function structureProblem(schema: JsonObject, text: string): string | undefined {
  const value = parsed(text)
  if (value === undefined) return 'is not JSON, and the message has a responseSchema'
  return jsonProblem(value, MAX_ANSWER_DEPTH) ?? checkWithinWork(schema)(value).problem
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
