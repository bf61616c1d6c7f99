import MarkdownIt, { type RendererRule } from 'markdown-it'
import xss from 'xss'

/** Lists and quotes inside each other. Deeper ones are left out. */
const MAX_DEPTH = 20

/** Characters that can begin or end a part of the format. Their weights bound the work. */
const MARK = /[\n*_[\]()<>|~`#+&\\!-]/g
/** A line, a cell, a link and a tag take longer than other marks. */
const WEIGHTS: Readonly<Record<string, number>> = { '\n': 4, '|': 4, '[': 6, '<': 6 }
const MAX_WEIGHT = 8_000

/** Shows HTML as text. */
const markdown = new MarkdownIt({ html: false, breaks: true, maxNesting: MAX_DEPTH })
const { escapeHtml } = markdown.utils

markdown.validateLink = (href) =>
  URL.canParse(href) && ['http:', 'https:', 'mailto:'].includes(new URL(href).protocol)

/** The attributes of links out of answers. */
export const LINK = { rel: 'noopener noreferrer nofollow', target: '_blank' }
const code = (text: string) =>
  `<pre tabindex="0"><code>${escapeHtml(text.trimEnd())}</code></pre>\n`

Object.assign(markdown.renderer.rules, {
  // The headings of an answer are no headings of the page.
  heading_open: () => '<p><strong>',
  heading_close: () => '</strong></p>\n',
  fence: (tokens, at) => code(tokens[at]?.content ?? ''),
  code_block: (tokens, at) => code(tokens[at]?.content ?? ''),
  link_open: (tokens, at, options, _, renderer) => {
    for (const [name, value] of Object.entries(LINK)) tokens[at]?.attrSet(name, value)
    return renderer.renderToken(tokens, at, options)
  },
  // An image of another server would tell that server who reads the answer.
  image: (tokens, at) => {
    const href = String(tokens[at]?.attrGet('src') ?? '')
    const name = tokens[at]?.content || href
    return `<a href="${escapeHtml(href)}" rel="${LINK.rel}" target="${LINK.target}">${escapeHtml(name)}</a>`
  },
} satisfies Record<string, RendererRule>)

const PLAIN_TAGS = 'p br hr strong em s code blockquote ul li table thead tbody tr th td'.split(' ')

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

/**
 * Renders Markdown as safe HTML: no images, no scripts, no styles, and links of three kinds. A text
 * with too many marks keeps its lines, and nothing else.
 */
export const safeHtml = (text: string) =>
  isHeavier(text, MAX_WEIGHT)
    ? `<pre tabindex="0">${escapeHtml(text)}</pre>\n`
    : xss(markdown.render(text), filter)

function isHeavier(text: string, max: number) {
  let weight = 0
  for (const [mark] of text.matchAll(MARK)) {
    weight += WEIGHTS[mark] ?? 1
    if (weight > max) return true
  }
  return false
}
