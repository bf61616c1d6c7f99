import { Marked, type Tokens } from 'marked'
import xss from 'xss'

/** Longer texts are shown raw, so that one answer does not block the process. */
const MAX_LENGTH = 64 * 1024

const markdown = new Marked({
  async: false,
  gfm: true,
  breaks: true,
  renderer: {
    // HTML in an answer is shown as text.
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeAll(text),
    // The headings of an answer are no headings of the page.
    heading({ tokens }) {
      return `<p><strong>${this.parser.parseInline(tokens)}</strong></p>`
    },
    code: ({ text }) => `<pre tabindex="0"><code>${escapeAll(text)}</code></pre>`,
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      return isSafe(href) ? anchor(href, text) : text
    },
    // An image of another server would tell that server who reads the answer.
    image: ({ href, text }) => {
      const name = escapeAll(text === '' ? href : text)
      return isSafe(href) ? anchor(href, name) : name
    },
  },
})

const anchor = (href: string, text: string): string =>
  `<a href="${escapeAll(href)}" rel="noopener noreferrer nofollow" target="_blank">${text}</a>`

const escapeAll = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')

const isSafe = (href: string): boolean =>
  URL.canParse(href) && ['http:', 'https:', 'mailto:'].includes(new URL(href).protocol)

const PLAIN_TAGS = 'p br hr strong em del code blockquote ul li table thead tbody tr th td'.split(
  ' ',
)

/** Lets only these tags and attributes through. A fault of the renderer then does no damage. */
const filter = {
  whiteList: {
    ...Object.fromEntries(PLAIN_TAGS.map((tag) => [tag, []])),
    ol: ['start'],
    pre: ['tabindex'],
    a: ['href', 'rel', 'target'],
  },
  css: false,
  stripIgnoreTag: true,
  stripIgnoreTagBody: ['script', 'style'],
}

/** Renders Markdown as safe HTML: no images, no scripts, no styles, and links of three kinds. */
export function safeHtml(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined
  return xss(markdown.parse(text, { async: false }), filter)
}
