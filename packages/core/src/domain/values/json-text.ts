import type { Json } from './json.js'

const QUOTE = 0x22
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const COMMA = 0x2c

/** Limits of JSON text from outside, in units that do not depend on the machine. */
export type JsonTextLimits = {
  /** Levels of objects and lists. `{}` has one. */
  readonly depth: number
  /** Objects, lists, texts, numbers, booleans and nulls. An empty object or list counts twice. */
  readonly values: number
}

/** Parsing as many values takes a few milliseconds. */
export const jsonTextLimits: JsonTextLimits = { depth: 64, values: 10_000 }
/** The limits of a request body of the API and of A2A. */
export const bodyTextLimits: JsonTextLimits = { ...jsonTextLimits, depth: 32 }
/** The limits, for a refusal that says what is allowed. */
export const jsonTextRule = ruleOf(jsonTextLimits)
export const bodyTextRule = ruleOf(bodyTextLimits)

/**
 * Parses JSON of a caller, an agent or a receiver. Throws a `SyntaxError` for other text, and for
 * text beyond the limits.
 */
export function parseJsonText(text: string, limits = jsonTextLimits): Json {
  const problem = jsonTextProblem(text, limits)
  if (problem !== undefined) throw new SyntaxError(`The JSON ${problem}`)
  return JSON.parse(text) as Json
}

/**
 * Returns why JSON text is beyond the limits, or undefined. `JSON.parse` accepts a million levels,
 * and code that walks the value later does not. Reads the text once, up to the limit. For text that
 * is not JSON the result means nothing: `JSON.parse` refuses that text later.
 */
export function jsonTextProblem(text: string, limits: JsonTextLimits): string | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === COMMA) values++
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      values++
      if (++depth > limits.depth) return `must not nest more than ${limits.depth} levels deep`
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--
    if (values > limits.values) return `must not have more than ${limits.values} values`
  }
  return undefined
}

function ruleOf({ values, depth }: JsonTextLimits): string {
  return `at most ${values} values and ${depth} levels`
}

/** Finds the closing quote. On long text `indexOf` is many times faster than a loop. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}
