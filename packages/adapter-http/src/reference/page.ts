import { errorCodes } from '@org/agent-messaging-http-kit'
import { html } from 'hono/html'
import { errorAnchor } from '../wire/error.js'
import { eventSection, operationSection, type DocumentedRoute } from './operation.js'
import { namedSchema } from './schema.js'
import type { Document } from './shapes.js'
import { document, each, inline, paragraphs, type Html } from './text.js'

/**
 * Shows the whole document as one page without scripts and without content from other hosts.
 * `style` and `source` are links.
 */
export function referencePage(
  doc: Document,
  links: { readonly style: string; readonly source: string },
): Html {
  const places = Object.entries(doc.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): DocumentedRoute => ({
      method,
      path,
      operation,
    })),
  )
  const groups = [...Map.groupBy(places, ({ operation }) => operation.tags[0] ?? '')]
  return document(
    `${doc.info.title}: API reference`,
    links.style,
    html`<a class="skip" href="#main">Skip to content</a>
      ${navigation(doc, groups)}
      <main id="main">
        <h1>${doc.info.title}</h1>
        ${paragraphs(doc.info.description)}
        <p>This page is made from <a href="${links.source}">openapi.json</a>, an OpenAPI 3.1 document that tools can read.</p>
        ${access(doc)}
        ${each(groups, ([tag, tagged]) => html`<h2 id="tag-${tag}">${tag}</h2>${each(tagged, (place) => operationSection(place, doc))}`)}
        <h2 id="events">Webhook events</h2>
        ${each(Object.entries(doc.webhooks), ([name, { post }]) => eventSection(name, post, doc))}
        <h2 id="errors">Errors</h2>
        ${each(Object.entries(errorCodes), ([code, help]) => errorSection(code, help))}
        <h2 id="schemas">Schemas</h2>
        ${each(Object.entries(doc.components.schemas), ([name, schema]) => namedSchema(name, schema))}
      </main>`,
  )
}

const access = ({ components }: Document): Html =>
  html`<h2 id="access">Access</h2>
    <ul>
      ${each(Object.values(components.securitySchemes), ({ description }) => html`<li>${inline(description)}</li>`)}
    </ul>`

const errorSection = (
  code: string,
  { cause, remedy }: { readonly cause: string; readonly remedy: string },
): Html =>
  html`<section id="${errorAnchor(code)}">
    <h3><a href="#${errorAnchor(code)}"><code>${code}</code></a></h3>
    <p>${inline(cause)}</p>
    <p>${inline(remedy)}</p>
  </section>`

const navigation = (
  { webhooks, components }: Document,
  groups: readonly (readonly [string, readonly DocumentedRoute[]])[],
): Html =>
  html`<nav aria-label="Contents">
    <p><a href="#access">Access</a></p>
    ${each(groups, ([tag, places]) =>
      links(
        tag,
        `tag-${tag}`,
        places.map(({ operation }) => ({ to: operation.operationId, text: operation.summary })),
      ),
    )}
    ${links(
      'Webhook events',
      'events',
      Object.entries(webhooks).map(([name, { post }]) => ({ to: post.operationId, text: name })),
    )}
    <p><a href="#errors">Errors</a></p>
    ${links(
      'Schemas',
      'schemas',
      Object.keys(components.schemas).map((name) => ({ to: `schema-${name}`, text: name })),
    )}
  </nav>`

const links = (
  title: string,
  id: string,
  all: readonly { readonly to: string; readonly text: string }[],
): Html =>
  html`<details>
    <summary>${title}</summary>
    <ul>
      <li><a href="#${id}">All of ${title.toLowerCase()}</a></li>
      ${each(all, ({ to, text }) => html`<li><a href="#${to}">${inline(text)}</a></li>`)}
    </ul>
  </details>`
