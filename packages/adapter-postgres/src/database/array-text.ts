/**
 * Returns an array in PostgreSQL's syntax. The driver would escape each element with two regular
 * expressions, also numbers.
 */
export const arrayText = (elements: readonly unknown[]): string =>
  `{${elements.map(elementText).join(',')}}`

function elementText(element: unknown): string {
  switch (typeof element) {
    case 'string':
      return quoted(element)
    case 'number':
    case 'boolean':
      return String(element)
    default:
      if (element === null || element === undefined) return 'NULL'
      throw new TypeError(`an array parameter contains a value of type ${typeof element}`)
  }
}

/** In quotes, only quotes and backslashes are special. */
const quoted = (text: string): string =>
  text.includes('"') || text.includes('\\')
    ? `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
    : `"${text}"`
