// Counts the patterns that plain English avoids, in comments, strings for people, docs and test
// titles. Fails above the highest rate of the projects in prose/anchors.json, and on lines of prose
// over 100 columns.
//
//   node scripts/check-prose.mjs [--list] [--only <folder>] [--json] [<root>]
//
// --list prints each finding as file:line. --json prints the counts in the form of anchors.json.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { languageOf, lineAt, proseOf } from './prose/extract.mjs'
import { countWords, PATTERNS } from './prose/patterns.mjs'

const CATEGORIES = ['comments', 'strings', 'docs', 'titles']

const SKIPPED_FOLDERS = /^(?:node_modules|dist|bundle|build|coverage|data|\.(?!ci$|changeset$).*)$/
const SKIPPED_FILES = /^(?:CHANGELOG|LICENSE|CODE_OF_CONDUCT)|\.(?:min\.js|api\.md)$/

const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory()) return SKIPPED_FOLDERS.test(entry.name) ? [] : filesBelow(file)
    return !SKIPPED_FILES.test(entry.name) && languageOf(file) ? [file] : []
  })

/** Returns per category its words, and each finding of a pattern or a long line with its place. */
export function readProse(root, only = '.') {
  const words = Object.fromEntries(CATEGORIES.map((category) => [category, 0]))
  const findings = []
  const longLines = []
  for (const full of filesBelow(path.join(root, only))) {
    const file = path.relative(root, full)
    const source = readFileSync(full, 'utf8')
    const { texts, long } = proseOf(file, source)
    longLines.push(...long.map((line) => ({ file, line })))
    for (const { category, start, text } of texts) {
      words[category] += countWords(text)
      for (const { pattern, index, length } of matchesIn(text)) {
        const line = lineAt(source, start + index + length - 1)
        const excerpt = text.slice(Math.max(0, index - 30), index + length + 30)
        findings.push({ category, pattern, file, line, excerpt: excerpt.replace(/\s+/g, ' ') })
      }
    }
  }
  return { words, findings, longLines }
}

const matchesIn = (text) =>
  Object.entries(PATTERNS).flatMap(([pattern, expression]) =>
    Array.from(text.matchAll(expression), (match) => ({
      pattern,
      index: match.index,
      length: match[0].length,
    })),
  )

/** Returns per category the words and the count of each pattern, as anchors.json has them. */
export const countsOf = ({ words, findings }) =>
  Object.fromEntries(
    CATEGORIES.map((category) => {
      const ofCategory = findings.filter((finding) => finding.category === category)
      const counts = Object.keys(PATTERNS).map((pattern) => [
        pattern,
        ofCategory.filter((finding) => finding.pattern === pattern).length,
      ])
      return [category, { words: words[category], ...Object.fromEntries(counts) }]
    }),
  )

const rate = (count, words) => (words === 0 ? 0 : (count * 1000) / words)
const total = ({ words: _, ...counts }) => Object.values(counts).reduce((sum, count) => sum + count)

/** Compares each pattern of each category, and each category in all, with the highest anchor. */
export function judge(countsByCategory, anchors) {
  const row = (category, pattern, countIn) => {
    const counts = countsByCategory[category]
    const allowed = Math.max(
      ...anchors.map((anchor) => rate(countIn(anchor[category]), anchor[category].words)),
    )
    const found = rate(countIn(counts), counts.words)
    return { category, pattern, count: countIn(counts), rate: found, allowed, ok: found <= allowed }
  }
  return CATEGORIES.flatMap((category) => [
    ...Object.keys(PATTERNS).map((name) => row(category, name, (counts) => counts[name])),
    row(category, 'in all', total),
  ])
}

function print(prose, rows) {
  const line = (...[category, pattern, count, found, allowed, verdict]) =>
    console.log(
      `${category.padEnd(9)} ${pattern.padEnd(14)} ${count.padStart(6)} ${found.padStart(7)} ${allowed.padStart(8)} ${verdict}`,
    )
  line('category', 'pattern', 'count', 'rate', 'allowed', '')
  for (const { category, pattern, count, rate: found, allowed, ok } of rows)
    line(category, pattern, `${count}`, found.toFixed(2), allowed.toFixed(2), ok ? '' : 'TOO MANY')
  const { words, longLines } = prose
  console.log(
    `\nWords: ${CATEGORIES.map((category) => `${category} ${words[category]}`).join(', ')}.`,
  )
  console.log(`Lines of prose over 100 columns: ${longLines.length}.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      list: { type: 'boolean' },
      json: { type: 'boolean' },
      only: { type: 'string' },
    },
  })
  const root = positionals[0] ?? fileURLToPath(new URL('..', import.meta.url))
  const prose = readProse(root, values.only)
  if (values.json) console.log(JSON.stringify(countsOf(prose), undefined, 2))
  else {
    const anchors = JSON.parse(readFileSync(new URL('prose/anchors.json', import.meta.url), 'utf8'))
    const rows = judge(countsOf(prose), Object.values(anchors))
    if (values.list) {
      for (const { file, line, category, pattern, excerpt } of prose.findings)
        console.log(`${file}:${line}  ${category}, ${pattern}: ${excerpt.trim()}`)
      for (const { file, line } of prose.longLines) console.log(`${file}:${line}  over 100 columns`)
    }
    print(prose, rows)
    process.exitCode = rows.every(({ ok }) => ok) && prose.longLines.length === 0 ? 0 : 1
  }
}
