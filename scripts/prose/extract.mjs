// Finds the prose of a source file: comments, strings for people, docs and test titles.
import path from 'node:path'
import { readScript } from './script.mjs'
import { blank, isForPeople, isSql, paragraphs, unquote, withoutCode } from './text.mjs'

/** Comments and strings of languages without a parser here, one match each. */
const TOKENS = {
  css: /\/\*[^]*?\*\//g,
  go: /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])*'/g,
  json: /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:\\.|[^"\\\n])*"/g,
  py: /#[^\n]*|"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g,
  sh: /(?<![^\s;])#[^\n]*|"(?:\\[^]|[^"\\])*"|'[^']*'/g,
  sql: /--(?=\s)[^\n]*|\/\*[^]*?\*\/|'[^']*'/g,
}
const COMMENT = /^(?:#|\/\/|\/\*|--|"""|''')/

const LANGUAGES = [
  [/\.(?:ts|tsx|mts|js|mjs|cjs)$/, () => 'script'],
  [/\.mdx?$/, () => 'markdown'],
  [/\.(?:css|go|py|sh|sql)$/, (file) => path.extname(file).slice(1)],
  [/\.jsonc$|\.oxlintrc\.json$/, () => 'json'],
  [/(?:^|\/)(?:Dockerfile|\.env\.example|\.npmrc|\.ci\/run)$|\.service$/, () => 'sh'],
]

const TEST = /[._]test\.\w+$|(?:^|\/)(?:tests?|__tests__|contract|runtime-tests)\//

/** Returns the language of a file, or undefined if the file holds no prose. */
export const languageOf = (file) => LANGUAGES.find(([name]) => name.test(file))?.[1](file)

/** Returns the texts of a file with category and offset, and the numbers of its long lines. */
export function proseOf(file, source) {
  const language = languageOf(file)
  if (language === 'markdown') {
    const whole = [{ start: 0, end: source.length }]
    return {
      texts: paragraphsOf('docs')({ start: 0, text: source }),
      long: longLines(source, whole),
    }
  }
  const { comments, strings } =
    language === 'script' ? readScript(file, source) : readTokens(language, source)
  const inSql = TEST.test(file) ? [] : strings.flatMap(sqlComments)
  const blocks = joinLineComments([...comments, ...inSql], source)
  const titles = strings.filter(({ isTitle }) => isTitle)
  const forPeople = TEST.test(file)
    ? []
    : strings.filter(({ isTitle, text }) => !isTitle && isForPeople(text))
  return {
    texts: [
      ...blocks.map((block) => commentText(source, block)).flatMap(paragraphsOf('comments')),
      ...forPeople.flatMap(paragraphsOf('strings')),
      ...titles.flatMap(paragraphsOf('titles')),
    ],
    long: longLines(source, blocks),
  }
}

const paragraphsOf =
  (category) =>
  ({ start, text }) =>
    paragraphs(text, start).map((paragraph) => Object.assign(paragraph, { category }))

const commentText = (source, { start, end }) => ({
  start,
  text: source
    .slice(start, end)
    .replace(/^(?:"""|''')|(?:"""|'''|\*\/)$/g, blank)
    .replace(/^[ \t]*(?:\/\/[!/]?|\/\*+|#!?|--|\*(?!\*))/gm, blank),
})

function readTokens(language, source) {
  const comments = []
  const strings = []
  for (const { 0: token, index: start } of source.matchAll(TOKENS[language])) {
    if (COMMENT.test(token)) comments.push({ start, end: start + token.length })
    else if (language === 'go' || language === 'py') {
      const isTitle = source.endsWith('.Run(', start)
      strings.push({ start, text: unquote(token), isTitle })
    }
  }
  return { comments, strings }
}

/** Returns the comments inside a string of SQL. */
const sqlComments = ({ start, text }) =>
  isSql(text)
    ? readTokens('sql', text).comments.map((range) => ({
        start: start + range.start,
        end: start + range.end,
      }))
    : []

/** Joins line comments that stand on adjacent lines. */
function joinLineComments(comments, source) {
  const joined = []
  for (const { start, end } of comments.toSorted((a, b) => a.start - b.start)) {
    const isLine = !source.startsWith('/*', start)
    const last = joined.at(-1)
    if (isLine && last?.isLine && /^[ \t]*\n[ \t]*$/.test(source.slice(last.end, start)))
      last.end = end
    else joined.push({ start, end, isLine })
  }
  return joined
}

const LIMIT = 100
/** Lines that cannot be broken: with an address, of a table, with an instruction to a tool. */
const UNBREAKABLE = /https?:\/\/|^[\s*/#]*\||(?:ox|es)lint-disable|@ts-expect-error/

/** Returns the numbers of lines with prose of these ranges that are longer than the limit. */
function longLines(source, ranges) {
  const lines = source.split('\n')
  const found = new Set()
  for (const { start, end } of ranges) {
    const first = lineAt(source, start)
    const texts = withoutCode(commentText(source, { start, end }).text).split('\n')
    texts.forEach((text, i) => {
      const line = lines[first - 1 + i]
      if (/[A-Za-z]/.test(text) && [...line].length > LIMIT && !UNBREAKABLE.test(line))
        found.add(first + i)
    })
  }
  return [...found]
}

export const lineAt = (source, offset) => source.slice(0, offset).split('\n').length
