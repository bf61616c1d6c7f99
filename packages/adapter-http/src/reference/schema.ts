import { html } from 'hono/html'
import { nameIn, type Schema } from './shapes.js'
import { each, inline, json, nothing, type Html } from './text.js'

/** A schema with a name of its own, in full. */
export const namedSchema = (name: string, schema: Schema): Html =>
  html`<section class="schema" id="schema-${name}">
    <h3><a href="#schema-${name}">${name}</a></h3>
    ${schema.description === undefined ? nothing : html`<p>${inline(schema.description)}</p>`} ${fieldsOf(schema)}
    ${each(schema.examples ?? [], json)}
  </section>`

/** An object's fields as a table; in a sentence what is none. */
export function fieldsOf(schema: Schema): Html {
  const { properties, required = [] } = schema
  if (!properties) return html`<p>${typeOf(schema)}</p>`
  return html`<table>
    <thead>
      <tr>
        <th scope="col">field</th>
        <th scope="col">type</th>
        <th scope="col">meaning</th>
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
    <td>${description === undefined ? nothing : inline(description)} ${inner(schema)}</td>
  </tr>`

/** An object within an object, or in a list of it. */
const inner = (schema: Schema): Html => {
  const nested = schema.items ?? schema
  return nested.properties && nested.$ref === undefined ? fieldsOf(nested) : nothing
}

/** In words, such as "list of Agent", with a link to what has a name. */
export function typeOf(schema: Schema): Html {
  const { $ref, type, items, oneOf, anyOf, allOf, additionalProperties: others } = schema
  if ($ref !== undefined) return html`<a href="#schema-${nameIn($ref)}">${nameIn($ref)}</a>`
  if (schema.const !== undefined) return code(schema.const)
  if (schema.enum)
    return html`${schema.enum.map((one, index) => (index === 0 ? code(one) : html` | ${code(one)}`))}`
  const some = oneOf ?? anyOf ?? allOf
  if (some)
    return html`${some.map((one, index) => (index === 0 ? typeOf(one) : html` ${allOf ? 'and' : 'or'} ${typeOf(one)}`))}`
  if (items) return html`list of ${typeOf(items)}`
  if (typeof others === 'object' && Object.keys(others).length > 0)
    return html`object of ${typeOf(others)}`
  return html`${type ?? 'any JSON'}${limitsOf(schema)}`
}

const code = (value: unknown): Html => html`<code>${JSON.stringify(value)}</code>`

function limitsOf({ format, minimum, maximum, default: byDefault }: Schema): Html {
  const bounds = [
    minimum === undefined ? [] : `≥ ${minimum}`,
    maximum === undefined ? [] : `≤ ${maximum}`,
  ]
    .flat()
    .join(', ')
  const words = [
    format ?? [],
    bounds === '' ? [] : bounds,
    byDefault === undefined ? [] : `default ${JSON.stringify(byDefault)}`,
  ].flat()
  return words.length === 0 ? nothing : html` <small>${words.join('; ')}</small>`
}
