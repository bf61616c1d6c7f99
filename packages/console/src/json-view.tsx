import { CopyButton } from './parts.js'

type Token = { readonly kind?: 'key' | 'text' | 'number' | 'word'; readonly text: string }

/** Longer texts are shown without colors, so that a page stays small. */
const MAX_HIGHLIGHTED = 64 * 1024

/** A string with a colon behind it, a string, a number or a word of JSON. */
const TOKEN =
  /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g

/** Splits indented JSON into tokens. Their texts together are the JSON. */
export function tokensOf(json: string): Token[] {
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

/** Indents JSON for reading. Undefined if the text is not JSON. */
function indentedJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return undefined
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
