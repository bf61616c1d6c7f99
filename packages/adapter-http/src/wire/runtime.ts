import type { RuntimeKind } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import type { JsonSchema } from '../document/json-schema.js'

/** An agent's runtime in an answer. */
export const shownRuntimeSchema = z.looseObject({ kind: z.string() }).meta({
  id: 'ShownRuntime',
  description:
    'The kind and its options. A secret option is shown as `{"set": true}`, or is left out.',
})

const REF = '#/components/schemas/'
/** Returns `HttpRuntime` for `http`. */
const nameOf = (kind: string): string =>
  `${kind.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase())}Runtime`

/** Refers to the schema of a request's runtime. */
export const runtimeRef = { $ref: `${REF}Runtime` }

/** Returns the named schemas of a request's runtime: one variant for each kind of this server. */
export function runtimeSchemas(kinds: readonly RuntimeKind[]): Record<string, JsonSchema> {
  const variants = kinds.map((one): [string, JsonSchema] => [nameOf(one.kind), variantOf(one)])
  return {
    Runtime: {
      description: 'Runs the agent. The kind decides which options there are.',
      oneOf: variants.map(([name]) => ({ $ref: REF + name })),
      discriminator: {
        propertyName: 'kind',
        mapping: Object.fromEntries(kinds.map(({ kind }) => [kind, REF + nameOf(kind)])),
      },
    },
    ...Object.fromEntries(variants),
  }
}

function variantOf({ kind, optionsSchema }: RuntimeKind): JsonSchema {
  const { properties = {}, required = [], additionalProperties = true } = optionsSchema?.() ?? {}
  return {
    type: 'object',
    properties: { kind: { type: 'string', const: kind }, ...nullable(properties, required) },
    required: ['kind', ...required],
    additionalProperties,
  }
}

/** Null for an option that is not required means that the option is absent. */
const nullable = (properties: Readonly<Record<string, object>>, required: readonly string[]) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      required.includes(name) ? schema : { anyOf: [schema, { type: 'null' }] },
    ]),
  )
