/** Returns the rows of the tables that have the columns `framework` and `code`. */
export function codeInTables(page: string): { readonly name: string; readonly code: string }[] {
  const tables = page.matchAll(/^(\|.*\|)\n\|[-|]+\|\n((?:\|.*\|\n)+)/gm)
  return Array.from(tables).flatMap(([, head = '', rows = '']) => {
    const [first, second] = cellsOf(head)
    if (first !== 'framework' || second !== 'code') return []
    return rows
      .trimEnd()
      .split('\n')
      .map((row) => {
        const [name, code] = cellsOf(row)
        return { name: withoutTicks(name), code: withoutTicks(code) }
      })
  })
}

const cellsOf = (row: string): string[] =>
  row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

const withoutTicks = (cell = ''): string => cell.replace(/^`(.*)`$/, '$1')
