import { eventSchemas } from '../wire/event.js'
import { schemaWriter, type JsonSchema } from './json-schema.js'

/** Returns a self-contained JSON Schema for each event. */
export const eventJsonSchemas = (): ReadonlyMap<string, JsonSchema> =>
  new Map(
    eventSchemas.map(({ name, id, schema }) => {
      const { write, components } = schemaWriter()
      write(schema, 'output')
      const { [id]: event, ...others } = components
      const whole = {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: name,
        ...event,
        $defs: others,
      }
      return [
        name,
        JSON.parse(
          JSON.stringify(whole).replaceAll('"#/components/schemas/', '"#/$defs/'),
        ) as JsonSchema,
      ]
    }),
  )
