/** Prints the value for a program, or the text for a person. */
export function print(json: boolean | undefined, value: unknown, text: string): void {
  console.log(json ? JSON.stringify(value, null, 2) : text)
}

export type Row = Readonly<Record<string, string>>

/** Columns as wide as what they hold, under the names of the fields. */
export function table(rows: readonly Row[], nothing: string): string {
  const [first] = rows
  if (!first) return nothing
  const names = Object.keys(first)
  const lines = [Object.fromEntries(names.map((name) => [name, name.toUpperCase()])), ...rows]
  const width = (name: string) => Math.max(...lines.map((line) => (line[name] ?? '').length))
  return lines
    .map((line) =>
      names
        .map((name) => (line[name] ?? '').padEnd(width(name)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
