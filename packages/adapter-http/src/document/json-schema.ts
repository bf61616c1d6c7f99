import { z } from 'zod'

export type JsonSchema = { readonly [keyword: string]: unknown }
/** `input` is what a schema takes, `output` what it gives: they differ where something is optional or transformed. */
type Side = 'input' | 'output'
type Adjust = { readonly zodSchema: z.core.$ZodType; readonly jsonSchema: Record<string, unknown> }

/**
 * Turns zod schemas into JSON Schema 2020-12, the dialect of OpenAPI 3.1. A schema with an `id` in its meta becomes a component.
 * `shown` in its meta, a JSON Schema or another zod schema, stands for what zod cannot tell: a check of our own, a number in a query.
 */
export function schemaWriter() {
  const components: Record<string, JsonSchema> = {}

  function write(schema: z.ZodType, side: Side): JsonSchema {
    const {
      $schema: _,
      $defs = {},
      ...written
    } = z.toJSONSchema(schema, { io: side, unrepresentable: 'any', override: adjust })
    for (const [id, component] of Object.entries($defs)) components[id] = atHome(component)
    return atHome(written)
  }

  function adjust({ zodSchema, jsonSchema }: Adjust): void {
    const { shown, examples } = z.globalRegistry.get(zodSchema) ?? {}
    if (shown) replace(jsonSchema, shown instanceof z.ZodType ? write(shown, 'output') : shown)
    // zod leaves them out where anything inside is transformed. They are examples of what is sent.
    if (examples) jsonSchema['examples'] = examples
    // The format says as much, in words.
    if (jsonSchema['format'] !== undefined) delete jsonSchema['pattern']
    // zod's bounds of every integer.
    if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
    if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
    // An answer may have more fields in a later version: a client must not refuse it for them.
    if (jsonSchema['additionalProperties'] === false && !isStrict(zodSchema))
      delete jsonSchema['additionalProperties']
  }

  return { write, components }
}

const atHome = (schema: object) =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as JsonSchema

function replace(jsonSchema: Record<string, unknown>, shown: object): void {
  const { description } = jsonSchema
  for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword]
  Object.assign(jsonSchema, shown, description !== undefined && { description })
}

const isStrict = (schema: z.core.$ZodType): boolean =>
  schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever
