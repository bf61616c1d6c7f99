import type { JsonObject } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { RequestRefusal } from '@org/agent-messaging-http-kit'
import { problem } from './fields.js'

/**
 * Returns the JSON Schema that a format of the answer asks for, or undefined for text. A chat
 * completion has the schema in `json_schema`. `at` is the path of the format.
 */
export function schemaOf(format: unknown, at: string): JsonObject | undefined {
  if (format === undefined || format === null) return undefined
  const { type, json_schema: within, ...rest } = isJsonObject(format) ? format : {}
  if (type === 'text') return undefined
  if (type === 'json_object') return { type: 'object' }
  const { schema } = isJsonObject(within) ? within : rest
  if (type === 'json_schema' && isJsonObject(schema)) return schema
  const message = 'must have the type text, json_object, or json_schema with a schema'
  throw new RequestRefusal(problem(at, message, 'unsupported_parameter'))
}

/** Returns the format of the answer as a response shows it. */
export const formatOf = (schema: JsonObject | undefined) =>
  schema ? { type: 'json_schema', name: 'response', schema, strict: true } : { type: 'text' }
