import { html } from 'hono/html'
import { errorAnchor } from '../wire/error.js'
import { fieldRow, fieldsOf, typeOf } from './schema.js'
import {
  resolved,
  type Answer,
  type Content,
  type Document,
  type Operation,
  type OperationError,
  type Parameter,
} from './shapes.js'
import { each, inline, json, nothing, paragraphs, type Html } from './text.js'

export type DocumentedRoute = {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

export function operationSection(
  { method, path, operation }: DocumentedRoute,
  { components }: Document,
): Html {
  const { operationId, summary, description = '', parameters, requestBody, responses } = operation
  const allParameters = parameters.map((one) => resolved(components.parameters, one))
  const successes = Object.entries(responses).filter(([status]) => !status.endsWith('XX'))
  const errors = Map.groupBy(operation['x-errors'] ?? [], ({ status }) => status)
  return html`<section class="operation" id="${operationId}">
    <h3>
      <a href="#${operationId}"><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></a>
    </h3>
    <p><strong>${inline(summary)}</strong></p>
    ${description === '' ? nothing : paragraphs(description)} ${accessTo(operation)}
    ${allParameters.length === 0 ? nothing : parameterTable(allParameters)}
    ${requestBody ? html`<h4>Body${requestBody.required ? nothing : html` <small>optional</small>`}</h4>${contentOf(requestBody.content)}` : nothing}
    <h4>Answers</h4>
    <dl>
      ${each(successes, ([status, answer]) => answerItem(status, resolved(components.responses, answer)))}
      ${each([...errors], ([status, some]) => errorItem(status, some))}
    </dl>
  </section>`
}

/** Shows the body that receivers of an event get. */
export function eventSection(name: string, operation: Operation, { components }: Document): Html {
  const body = operation.requestBody?.content['application/json']?.schema ?? {}
  const schema = resolved(components.schemas, body)
  const { data = {} } = schema.properties ?? {}
  return html`<section class="operation" id="${operation.operationId}">
    <h3><a href="#${operation.operationId}"><code>${name}</code></a></h3>
    <p><strong>${inline(operation.summary)}</strong></p>
    <p>${typeOf(body)}, with these fields in <code>data</code>:</p>
    ${fieldsOf(data)} ${each(schema.examples ?? [], json)}
  </section>`
}

function accessTo({ security = [] }: Operation): Html {
  const ways = security.flatMap((one) => Object.entries(one))
  if (ways.length === 0) return html`<p>Public: needs no credentials.</p>`
  return html`<p>
    Needs <code>Authorization: Bearer …</code> with
    ${ways.map(([scheme, roles], index) => html`${index === 0 ? '' : ' or '}${credentialName(scheme)}${roles.map((role) => html` <code>${role}</code>`)}`)}.
  </p>`
}

const credentialName = (scheme: string): string =>
  ({
    projectKey: 'an API key with the permission',
    runToken: 'the run token',
    cronSecret: 'the cron secret',
  })[scheme] ?? 'the metrics token'

const parameterTable = (parameters: readonly Parameter[]): Html =>
  html`<h4>Parameters</h4>
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        ${each(parameters, ({ name, in: place, schema, required = false, description = '' }) =>
          fieldRow(
            name,
            schema,
            required,
            place === 'query'
              ? description
              : `${place === 'path' ? 'Path parameter.' : 'Header.'} ${description}`,
          ),
        )}
      </tbody>
    </table>`

const contentOf = (content: Content): Html[] =>
  each(
    Object.entries(content),
    ([mediaType, { schema }]) => html`<p>${typeOf(schema)} <small>${mediaType}</small></p>`,
  )

const answerItem = (status: string, { description, content = {} }: Answer): Html =>
  html`<dt><code>${status}</code></dt>
    <dd>${paragraphs(description)} ${contentOf(content)}</dd>`

const errorItem = (status: number, errors: readonly OperationError[]): Html =>
  html`<dt><code>${status}</code></dt>
    <dd>
      ${each(errors, ({ code, message }) => html`<p><a href="#${errorAnchor(code)}"><code>${code}</code></a>: ${inline(message)}</p>`)}
    </dd>`
