import { CopyButton } from './parts.js'

type Token = { readonly kind?: 'key' | 'text' | 'number' | 'word'; readonly text: string }

/** Longer texts are shown without colors, so that a page stays small. */
const MAX_HIGHLIGHTED = 64 * 1024

/** A string with a colon behind it, a string, a number or a word of JSON. */
const TOKEN =
  /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g

/** Splits indented JSON into tokens. Their texts together are the JSON. */
export function tokensOf(json: string) {
  const tokens: Token[] = []
  let end = 0
  for (const { index, 0: text, 1: key, 2: string, 3: number } of json.matchAll(TOKEN)) {
    if (index > end) tokens.push({ text: json.slice(end, index) })
    const kind = key ? 'key' : string ? 'text' : number ? 'number' : 'word'
    tokens.push({ kind, text })
    end = index + text.length
  }
  if (end < json.length) tokens.push({ text: json.slice(end) })
  return tokens
}

/** Deeper JSON is shown as it is: the size of its indentation would be the square of its depth. */
const MAX_DEPTH = 64
/** JSON that needs more for its indentation is shown as it is. */
const MAX_INDENTED = 1024 * 1024

/** A string, a sign between values, or any other value. */
const PART = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g

/**
 * Indents JSON for reading. Keeps each number as it is written, and each of several equal keys.
 * Undefined if the text is not JSON.
 */
export function indentedJson(text: string) {
  if (!isJson(text)) return undefined
  let depth = 0
  let indented = ''
  let last = ''
  for (const [part] of text.matchAll(PART)) {
    const isEnd = part === '}' || part === ']'
    const isFirst = last === '{' || last === '['
    if (isEnd) depth--
    if (isEnd ? !isFirst : isFirst || last === ',') indented += `\n${'  '.repeat(depth)}`
    if (last === ':') indented += ' '
    indented += part.startsWith('"') ? readable(part) : part
    if (part === '{' || part === '[') depth++
    if (depth > MAX_DEPTH || indented.length > text.length + MAX_INDENTED) return text
    last = part
  }
  return indented
}

/** Shows escaped letters, such as `\u00e9`, as letters. */
const readable = (string: string) => JSON.stringify(JSON.parse(string))

function isJson(text: string) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

type JsonViewProps = {
  readonly text: string
  /** The name of the text for the copy button. */
  readonly what: string
}

/** Shows a text. JSON is indented and colored. The button copies the text as it is. */
export function JsonView({ text, what }: JsonViewProps) {
  const shown = indentedJson(text)
  const isPlain = shown === undefined || shown.length > MAX_HIGHLIGHTED
  return (
    <div class="code">
      <pre tabindex={0}>
        {isPlain
          ? (shown ?? text)
          : tokensOf(shown).map(({ kind, text: part }) =>
              kind ? <span class={`json-${kind}`}>{part}</span> : part,
            )}
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
