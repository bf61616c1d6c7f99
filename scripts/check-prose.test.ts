import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { countsOf, judge, readProse } from './check-prose.mjs'

let root: string

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'prose-'))
})

afterEach(() => rmSync(root, { recursive: true }))

function read(file: string, source: string) {
  const full = path.join(root, file)
  mkdirSync(path.dirname(full), { recursive: true })
  writeFileSync(full, source)
  return readProse(root)
}

function findingsOf(file: string, source: string): string[] {
  const { findings } = read(file, source)
  return findings.map(({ line, category, pattern }) => `${line} ${category}: ${pattern}`)
}

const long = 'word '.repeat(30)

describe('the prose check', () => {
  it.each([
    ['a.ts', 'const a = 1 // What failed is tried again.', '1 comments: bare what'],
    ['a.ts', '/**\n * Tells the server\n * of what waits.\n */', '3 comments: bare what'],
    ['a.ts', '// Goes to\n// whoever asks first.', '2 comments: whoever'],
    ['a.ts', 'fail("the claim is lost, for it was late")', '1 strings: for = because'],
    ['a.ts', 'fail("the lease has ended " +\n  `of ${late} of late`)', '2 strings: anew'],
    ['a.tsx', 'const a = <p>Paste <b>it</b> here; then sign in</p>', '1 strings: semicolon'],
    ['a.tsx', 'const a = <input title="Those that failed" />', '1 strings: bare those'],
    [
      'a.mjs',
      'sql(`select 1 -- Somebody is first\nfrom rows where id = $1`)',
      '1 comments: somebody',
    ],
    ['a.test.ts', 'it.each([1])("keeps a row of its own", () => {})', '1 titles: its own'],
    ['a.test.ts', 'describe(`a key that may send`, () => {})', '1 titles: may'],
    ['a.md', '# Page\n\nA text.\n\n- The row is to be deleted.', '5 docs: is to'],
    ['a.md', '| a | b |\n|---|---|\n| 1 | Open: who asks |', '3 docs: bare who'],
    ['a.md', 'word, '.repeat(41), '1 docs: over 40 words'],
    ['a.go', 'x := "a" // So many at a time.', '1 comments: so many'],
    ['a.py', 'def a():\n  """Returns. It is late."""', '2 comments: starts with it'],
    ['a.sh', 'echo "# 1"\n# Runs anew.', '2 comments: anew'],
    ['a.css', 'a { b: c } /* Hidden; shown later. */', '1 comments: semicolon'],
    ['a.sql', "select '--' -- Nobody waits.", '1 comments: somebody'],
  ])('finds in %s: %s', (file, source, finding) => {
    expect(findingsOf(file, source)).toEqual([finding])
  })

  it.each([
    ['a.ts', '// The caller who sent the message knows what happens. What happens next?'],
    [
      'a.ts',
      '// Stops `nobody`. See {@link whoever}.\n/**\n * @example\n * send(whatever); wait()\n */',
    ],
    ['a.ts', "import 'what is that'\nconst sql = `select what from those where id = $1; commit`"],
    ['a.ts', 'const a = "whatever"; const b = /nobody may/'],
    ['a.tsx', 'const a = <p className="what is nobody">Sign in</p>'],
    ['a.test.ts', 'send("what is nobody")'],
    ['a.md', 'See [the page](https://a.b/whatever).\n\n```\nnobody; anew\n```\n\nA ` whoever `.'],
    ['a.md', '<!-- nobody -->\nThe goal is to send.'],
    ['node_modules/a.md', 'Nobody.'],
    ['a.json', '"Nobody"'],
  ])('finds nothing in %s: %s', (file, source) => {
    expect(findingsOf(file, source)).toEqual([])
  })

  it.each([
    ['a.ts', `const a = 1\n// ${long}`, [2]],
    ['a.ts', `/**\n * ${long}\n */\nconst b = '${long}'`, [2]],
    ['a.ts', `const a = [${'1, '.repeat(40)}] // Numbers.`, [1]],
    ['a.md', `${long}\n\n    ${long}\n`, [1, 3]],
    ['a.md', `| ${long} |\n\n\`\`\`\n${long}\n\`\`\`\n\n${long} https://a.b/c`, []],
  ])('finds lines of prose over 100 columns in %s: %s', (file, source, lines) => {
    expect(read(file, source).longLines.map(({ line }) => line)).toEqual(lines)
  })

  it('fails a pattern that is more frequent than in each anchor', () => {
    const counts = (text: string) => countsOf(read('a.md', text))
    const rare = counts(`Nobody. ${'Word. '.repeat(999)}`)
    const frequent = counts(`Nobody. ${'Word. '.repeat(499)}`)
    expect(judge(rare, [rare, frequent]).filter(({ ok }) => !ok)).toEqual([])
    expect(judge(frequent, [rare]).filter(({ ok }) => !ok)).toMatchObject([
      { category: 'docs', pattern: 'somebody', rate: 2, allowed: 1 },
      { category: 'docs', pattern: 'in all', rate: 2, allowed: 1 },
    ])
  })
})
