import { errorCodes } from '@org/agent-messaging-http-kit'
import { html } from 'hono/html'
import { errorAnchor } from '../wire/error.js'
import { type DocumentedRoute, eventSection, operationSection } from './operation.js'
import { namedSchema } from './schema.js'
import type { Document } from './shapes.js'
import { document, each, type Html, inline, paragraphs } from './text.js'

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

/** The style of the reference page. Follows the reader's system: light or dark. */
export const style = `
:root { color-scheme: light dark; --text: #1c2128; --soft: #57606a; --line: #d8dee4; --back: #fff; --card: #f6f8fa; --link: #0550ae;
  --get: #0550ae; --post: #116329; --patch: #8a4600; --delete: #a40e26 }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9aa4af; --line: #343b44; --back: #0d1117; --card: #161b22; --link: #79b8ff;
  --get: #79b8ff; --post: #6ddb8b; --patch: #f0b072; --delete: #ff9492 } }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { margin: 0; display: grid; grid-template-columns: 19rem minmax(0, 1fr); font: 1rem/1.55 system-ui, sans-serif; color: var(--text); background: var(--back) }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1rem; border-right: 1px solid var(--line); background: var(--card); font-size: .9rem }
nav ul { list-style: none; margin: .25rem 0 .75rem; padding-left: .9rem } nav li { margin: .2rem 0 }
summary { cursor: pointer; font-weight: 600; padding: .2rem 0 }
body:not(:has(nav)) { display: block } body:not(:has(nav)) > main { max-width: 44rem; margin: auto }
main { padding: 1.5rem clamp(1rem, 4vw, 3rem) 6rem; max-width: 62rem }
a { color: var(--link); text-decoration-thickness: .06em; text-underline-offset: .15em }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
h1 { font-size: 1.8rem; line-height: 1.2 } h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) }
h3 { margin: 0 0 .5rem; font-size: 1.05rem; overflow-wrap: anywhere } h3 a { color: inherit; text-decoration: none } h3 a:hover { text-decoration: underline }
h4 { margin: 1.2rem 0 .3rem }
section { margin: 1.25rem 0; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: .5rem }
code { font: .88em ui-monospace, monospace; overflow-wrap: anywhere }
pre { overflow: auto; padding: .75rem 1rem; border-radius: .4rem; background: var(--card); border: 1px solid var(--line) }
table { border-collapse: collapse; width: 100%; font-size: .92rem } th, td { text-align: left; overflow-wrap: anywhere; vertical-align: top; padding: .35rem .6rem .35rem 0; border-top: 1px solid var(--line) }
thead th { border: 0; color: var(--soft); font-weight: 500 } tbody th { font-weight: 600; white-space: nowrap }
small { color: var(--soft); font-weight: 400 }
dl { display: grid; grid-template-columns: 3.5rem minmax(0, 1fr); gap: .2rem 0 } dd { margin: 0 } dd p { margin: 0 0 .3rem }
.method { font: 700 .8rem ui-monospace, monospace } .get { color: var(--get) } .post { color: var(--post) } .patch { color: var(--patch) } .delete { color: var(--delete) }
.skip { position: absolute; left: -99rem } .skip:focus { left: .5rem; top: .5rem; background: var(--back); padding: .5rem; z-index: 1 }
fieldset { border: 1px solid var(--line); border-radius: .4rem }
input:not([type=radio]), textarea { width: 100%; padding: .5rem; font: inherit; color: inherit; background: var(--back); border: 1px solid var(--soft); border-radius: .4rem }
button { padding: .55rem 1rem; font: inherit; font-weight: 600; color: var(--back); background: var(--link); border: 0; border-radius: .4rem; cursor: pointer }
@media (max-width: 50rem) { body { display: block } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line) } thead { display: none } table, tbody, tr, tbody th, td { display: block } td { border: 0; padding: 0 0 .3rem } }
`
