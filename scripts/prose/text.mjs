// Functions here replace a part of a text at its length, so that an offset still leads to its line.

/** Returns spaces, with the line breaks of the text. */
export const blank = (text) => text.replace(/\S/g, ' ')

/** Returns one word of x, to stand for code in a sentence. */
export const fill = (text) => text.replace(/[^\n]/g, 'x')

/** Returns the content of a quoted literal, with spaces for its quotes and its escapes. */
export const unquote = (literal) =>
  ` ${literal.slice(1, -1)} `.replace(/\\u\{?[0-9a-f]+\}?|\\x[0-9a-f]{2}|\\[^]/gi, blank)

const SQL_START =
  /^\s*(?:-- \w+|select|insert into|update \w+|delete from|with (?:recursive )?\w+|create \w+|alter \w+|drop \w+|on conflict|order by|returning|left join|pragma|begin|where [\w.]+ =)\b/i
const SQL_PART = /[<>=] *[$@?:]\w*|\bis (?:not )?null\b/i

export const isSql = (text) => SQL_START.test(text) || SQL_PART.test(text)

/** Returns true for a text with at least three words and little else. */
export function isForPeople(text) {
  const tokens = text.split(/\s+/).filter((token) => token && !/^x+$/.test(token))
  const words = tokens.filter((token) => /^["'“(]*[a-z][a-z'’-]*[)"'”.,:;!?]*$/i.test(token))
  return words.length >= 3 && words.length >= tokens.length * 0.6 && !isSql(text)
}

/** Separates paragraphs: an empty line, a list item, a heading, a table cell, a tag. */
const BREAK =
  /(\n\s*\n|\n(?=\s*(?:[-*+•]|\d+[.)])\s)|\n(?=\s*(?:#|@\w|\|))|(?<=\n[ \t]*#+[^\n]*)\n|\|)/

/** Splits Markdown into its paragraphs, without code, addresses and markup. */
export function paragraphs(text, offset) {
  const found = []
  let start = offset
  for (const part of withoutCode(text).split(BREAK)) {
    if (/[A-Za-z]{2}/.test(part)) found.push({ start, text: part })
    start += part.length
  }
  return found
}

/** Code and markup, and how to replace it. */
const CODE = [
  [/^---\n[^]*?\n---\n/, blank], // front matter
  [/^([ \t]*)(`{3,}|~{3,})[^\n]*\n[^]*?(?:\n[ \t]*\2|$(?![^]))/gm, blank],
  [/@example\b[^]*?(?=\n\s*@\w|$(?![^]))/g, blank],
  [/<!--[^]*?-->/g, blank],
  [/`[^`]+`|\{@\w+[^}]*\}|\bhttps?:\/\/[^\s)>"'|]+/g, fill],
  [/\]\([^()\s]*\)|<\/?[a-zA-Z][^<>\n]*>/g, blank],
  [/^\s*@(?:(?:param|template|property)\s+\S+|\w+)/gm, blank],
  [/[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}/g, blank],
]

export const withoutCode = (text) =>
  CODE.reduce((rest, [expression, by]) => rest.replace(expression, by), text)
