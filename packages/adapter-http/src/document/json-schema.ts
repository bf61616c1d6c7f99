import { z } from 'zod'

export type JsonSchema = { readonly [keyword: string]: unknown }
/**
 * A schema accepts its `input` and gives its `output`. Defaults and transformations make them
 * differ.
 */
type Side = 'input' | 'output'
type Adjust = { readonly zodSchema: z.core.$ZodType; readonly jsonSchema: Record<string, unknown> }

/**
 * Turns zod schemas into JSON Schema 2020-12, the dialect of OpenAPI 3.1. A schema with an `id` in
 * its meta becomes a component. `shown` in its meta replaces a schema that zod cannot express, such
 * as a custom check or a number in a query. It is a JSON Schema or another zod schema.
 */
export function schemaWriter() {
  const components: Record<string, JsonSchema> = {}

  function write(schema: z.ZodType, side: Side): JsonSchema {
    const {
      $schema: _,
      $defs = {},
      ...written
    } = z.toJSONSchema(schema, { io: side, unrepresentable: 'any', override: adjustOf(side) })
    for (const [id, component] of Object.entries($defs))
      components[id] ??= withComponentRefs(component)
    return withComponentRefs(written)
  }

  const adjustOf =
    (side: Side) =>
    ({ zodSchema, jsonSchema }: Adjust): void => {
      const { shown, examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (shown) replace(jsonSchema, shown instanceof z.ZodType ? write(shown, side) : shown)
      // These are examples of the input. zod omits them if any part of the schema is transformed.
      if (examples) jsonSchema['examples'] = examples
      // The format already says what the pattern says.
      if (jsonSchema['format'] !== undefined) delete jsonSchema['pattern']
      // zod gives every integer these bounds.
      if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
      if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
      // A client must not refuse an answer that has more fields in a later version.
      if (jsonSchema['additionalProperties'] === false && !isStrict(zodSchema))
        delete jsonSchema['additionalProperties']
    }

  return { write, components }
}

const withComponentRefs = (schema: object) =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'), (_, part) =>
    withShortNull(withoutConstant(part)),
  ) as JsonSchema

/** Generators refuse a boolean with one value, or make an enum of texts of it. */
function withoutConstant(part: unknown): unknown {
  const schema = part as JsonSchema | null
  if (schema?.['type'] !== 'boolean') return part
  const { const: _, ...rest } = schema
  return rest
}

/** Writes "this type or null" as a list of types if it can. More tools understand that. */
function withShortNull(part: unknown): unknown {
  const { anyOf, ...rest } = (part ?? {}) as { readonly anyOf?: readonly JsonSchema[] }
  const [one, other] = anyOf ?? []
  if (anyOf?.length !== 2 || other?.['type'] !== 'null') return part
  if (Array.isArray(one?.['type'])) return { ...one, ...rest }
  if (Array.isArray(one?.['anyOf'])) {
    const others = (one['anyOf'] as readonly JsonSchema[]).filter(({ type }) => type !== 'null')
    return { ...one, ...rest, anyOf: [...others, { type: 'null' }] }
  }
  if (typeof one?.['type'] !== 'string') return part
  const words = one['enum'] as readonly unknown[] | undefined
  return { ...one, ...rest, type: [one['type'], 'null'], ...(words && { enum: [...words, null] }) }
}

/** Writes each part of a JSON Schema that was made elsewhere as `write` does. */
export const normalized = (schemas: Record<string, JsonSchema>): Record<string, JsonSchema> =>
  withComponentRefs(schemas) as Record<string, JsonSchema>

function replace(jsonSchema: Record<string, unknown>, shown: object): void {
  const { description } = jsonSchema
  for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword]
  Object.assign(jsonSchema, shown, description !== undefined && { description })
}

const isStrict = (schema: z.core.$ZodType): boolean =>
  schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever
