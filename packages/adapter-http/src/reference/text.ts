import { html, raw } from 'hono/html'

export type Html = ReturnType<typeof html>

export const each = <T>(all: readonly T[], show: (one: T) => Html): Html[] => all.map(show)
export const nothing = html``

/** Renders the Markdown that our descriptions use: paragraphs and `code`. */
export const paragraphs = (text: string): Html[] =>
  each(text.split('\n\n'), (one) => html`<p>${inline(one)}</p>`)

export const inline = (text: string): Html[] =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))

/** Shows JSON. The template escapes it. */
export const json = (value: unknown): Html =>
  html`<pre><code>${JSON.stringify(value, null, 2)}</code></pre>`

export const document = (title: string, style: string, body: Html): Html =>
  html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="stylesheet" href="${style}" />
      </head>
      <body>
        ${body}
      </body>
    </html>`
