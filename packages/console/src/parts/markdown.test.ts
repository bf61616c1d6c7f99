import { describe, expect, it } from 'vitest'
import { safeHtml } from './markdown.js'

describe('Markdown of an answer', () => {
  it.each([
    ['**bold** and `code`', '<p><strong>bold</strong> and <code>code</code></p>'],
    ['# Title', '<p><strong>Title</strong></p>'],
    ['- ~~done~~', '<ul>\n<li><s>done</s></li>\n</ul>'],
    ['3. three', '<ol start="3">\n<li>three</li>\n</ol>'],
    ['```html\n<b>"x"</b>\n```', '<pre tabindex="0"><code>&lt;b&gt;"x"&lt;/b&gt;</code></pre>'],
    ['a\nb', '<p>a<br>\nb</p>'],
    [
      '[site](https://a.example/?x=1&y)',
      '<p><a href="https://a.example/?x=1&y" rel="noopener noreferrer nofollow" target="_blank">site</a></p>',
    ],
  ])('%j becomes %j', (text, html) => {
    expect(safeHtml(text).trim().replaceAll('&quot;', '"').replaceAll('&amp;', '&')).toBe(html)
  })

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<a href="javascript:alert(1)">x</a>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '[x](//evil.example)',
    '![x](https://evil.example/p.png)',
    '![x" onerror="alert(1)](https://a.example/)',
    '[x](https://a.example/"onmouseover="alert(1))',
    '<svg onload=alert(1)>',
    '<style>body{display:none}</style>',
    '`<script>`<script>alert(1)</script>',
    '<iframe srcdoc="<script>alert(1)</script>">',
    '<form action=/console/sign-out><button>x',
    '```x" onclick="alert(1)\n```',
    '| <b onclick=alert(1)> |\n|---|\n| <script>x</script> |',
  ])('%j runs nothing and loads nothing', (text) => {
    const html = safeHtml(text)
    const tags = [...html.matchAll(/<\/?([a-z0-9]+)([^>]*)>/gi)]
    for (const [, tag = '', attributes = ''] of tags) {
      expect(['script', 'img', 'svg', 'style', 'iframe', 'form', 'button']).not.toContain(tag)
      for (const [, name = ''] of attributes.replaceAll(/"[^"]*"/g, '""').matchAll(/([\w-]+)=/g))
        expect(['href', 'rel', 'target', 'start', 'tabindex']).toContain(name)
      expect(attributes).not.toMatch(/href="(?!https?:|mailto:)/)
    }
  })

  it.each(['_a_', '>', '*_', '[', '**a *b ', '`a``b```', '- ', '[a](b', '![a](', '<a ', '|a'])(
    '%j many times is rendered as a whole',
    (part) => {
      const text = part.repeat(Math.floor(65_536 / part.length))
      expect(safeHtml(text).length).toBeGreaterThan(0)
    },
  )

  it('leaves a text with too many marks as it is', () => {
    expect(safeHtml(`${'*a'.repeat(7_996)} **b**`)).toContain('<strong>b</strong>')
    expect(safeHtml(`${'*a'.repeat(7_997)} **b**\n<i>`)).toMatch(
      /^<pre tabindex="0">\*a.* \*\*b\*\*\n&lt;i&gt;<\/pre>\n$/,
    )
    expect(safeHtml('- a\n'.repeat(1_600))).toContain('<li>')
    expect(safeHtml('- a\n'.repeat(1_601))).not.toContain('<li>')
  })
})
