export type Element = string | number | boolean | null

/**
 * Returns an array in PostgreSQL's syntax. The driver would escape each element, numbers too, with
 * two regular expressions, which takes a tenth of a send.
 */
export const arrayText = (elements: readonly Element[]): string =>
  `{${elements.map(elementText).join(',')}}`

function elementText(element: Element): string {
  if (element === null) return 'NULL'
  return typeof element === 'string' ? quoted(element) : String(element)
}

/** In quotes, only quotes and backslashes are special. */
export const quoted = (text: string): string =>
  text.includes('"') || text.includes('\\')
    ? `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
    : `"${text}"`
