import { html } from 'hono/html'
import { nameIn, type Schema } from './shapes.js'
import { each, inline, json, nothing, type Html } from './text.js'

/** Shows a named schema in full. */
export const namedSchema = (name: string, schema: Schema): Html =>
  html`<section class="schema" id="schema-${name}">
    <h3><a href="#schema-${name}">${name}</a></h3>
    ${schema.description === undefined ? nothing : html`<p>${inline(schema.description)}</p>`} ${fieldsOf(schema)}
    ${each(schema.examples ?? [], json)}
  </section>`

/** Shows the fields of an object as a table, and any other schema as its type. */
export function fieldsOf(schema: Schema): Html {
  const { properties, required = [] } = schema
  if (!properties) return html`<p>${typeOf(schema)}</p>`
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Field</th>
        <th scope="col">Type</th>
        <th scope="col">Meaning</th>
      </tr>
    </thead>
    <tbody>
      ${each(Object.entries(properties), ([name, field]) => fieldRow(name, field, required.includes(name)))}
    </tbody>
  </table>`
}

export const fieldRow = (
  name: string,
  schema: Schema,
  isRequired: boolean,
  description = schema.description,
): Html =>
  html`<tr>
    <th scope="row"><code>${name}</code>${isRequired ? nothing : html` <small>optional</small>`}</th>
    <td>${typeOf(schema)}</td>
    <td>${description === undefined ? nothing : inline(description)} ${nestedFields(schema)}</td>
  </tr>`

/** Shows the fields of an object that is nested in a field or in its list. */
const nestedFields = (schema: Schema): Html => {
  const nested = schema.items ?? schema
  return nested.properties && nested.$ref === undefined ? fieldsOf(nested) : nothing
}

/** Names a type, such as "list of Agent". Links to named schemas. */
export function typeOf(schema: Schema): Html {
  const { $ref, type, items, oneOf, anyOf, allOf, additionalProperties: others } = schema
  if ($ref !== undefined) return html`<a href="#schema-${nameIn($ref)}">${nameIn($ref)}</a>`
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum)
    return html`${schema.enum.map((one, index) => (index === 0 ? code(one) : html` | ${code(one)}`))}`
  const parts = oneOf ?? anyOf ?? allOf
  if (parts)
    return html`${parts.map((one, index) => (index === 0 ? typeOf(one) : html` ${allOf ? 'and' : 'or'} ${typeOf(one)}`))}`
  if (schema.contentSchema) return html`${typeOf(schema.contentSchema)} as a JSON text`
  if (items) return html`list of ${typeOf(items)}`
  if (typeof others === 'object' && Object.keys(others).length > 0)
    return html`object of ${typeOf(others)}`
  return html`${[type ?? 'any JSON'].flat().join(' or ')}${limitsOf(schema)}`
}

const code = (value: unknown): Html => html`<code>${JSON.stringify(value)}</code>`

function limitsOf({ format, minimum, maximum, default: byDefault }: Schema): Html {
  const bounds = [
    minimum === undefined ? [] : `≥ ${minimum}`,
    maximum === undefined ? [] : `≤ ${maximum}`,
  ]
    .flat()
    .join(', ')
  const limits = [
    format ?? [],
    bounds === '' ? [] : bounds,
    byDefault === undefined ? [] : `default ${JSON.stringify(byDefault)}`,
  ].flat()
  return limits.length === 0 ? nothing : html` <small>${limits.join('; ')}</small>`
}
