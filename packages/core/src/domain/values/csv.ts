/** A text that a spreadsheet takes for a formula, also behind white space, marks and quotes. */
const FORMULA = /^(?:[\t\r\n]|[\s\p{C}"'`]*[=+\-@＝＋－＠])/u

/**
 * Returns a record of a CSV file (RFC 4180), with its line end. A text that could be a formula gets
 * an apostrophe in front.
 */
export const csvRecord = (cells: readonly (string | number)[]): string =>
  `${cells.map(csvCell).join(',')}\r\n`

function csvCell(cell: string | number): string {
  const text = typeof cell === 'string' && FORMULA.test(cell) ? `'${cell}` : String(cell)
  return /^\s|[",\r\n]|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
