const QUOTE = 0x22
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Tells whether JSON text nests arrays and objects more than `max` deep. `JSON.parse` accepts a
 * million levels, and code that walks the value later does not. Reads the text once. For text that
 * is not JSON the result means nothing: `JSON.parse` refuses that text later.
 */
export function isNestedDeeper(text: string, max: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > max) return true
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--
  }
  return false
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
