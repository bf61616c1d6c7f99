import { harmless } from '../harmless.js'

/** Prints the value for a program, or the text for a person. */
export function print(json: boolean | undefined, value: unknown, text: string): void {
  console.log(toShow(json ? JSON.stringify(value, null, 2) : text))
}

/** For stdout: as it is for programs and files, and harmless for a terminal. */
export const toShow = (
  text: string,
  to: Pick<NodeJS.WriteStream, 'isTTY'> = process.stdout,
): string => (to.isTTY ? harmless(text) : text)

export type Row = Readonly<Record<string, string>>

/** Columns as wide as what they hold, under the names of the fields. What others wrote moves no cursor and sets no colour. */
export function table(given: readonly Row[], nothing: string): string {
  const rows = given.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, onOneLine(value)])),
  )
  const [first] = rows
  if (!first) return nothing
  const names = Object.keys(first)
  const lines = [Object.fromEntries(names.map((name) => [name, titled(name)])), ...rows]
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

/** A field a line; what is within one as JSON. */
export const fieldTable = (value: object): string =>
  table(
    Object.entries(value).map(([field, inner]: [string, unknown]) => ({
      ...{ field, value: typeof inner === 'string' ? inner : JSON.stringify(inner) },
    })),
    '',
  )

const onOneLine = (text: string): string => harmless(text).replaceAll(/[\n\t]/g, ' ')

/** `CREATED AT` for `createdAt`. */
const titled = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toUpperCase()

export type Progress = { show(text: string): void; end(): void }

/** One line on stderr that is written over, for who watches a terminal; nothing for anybody else. */
export function progress(to: NodeJS.WriteStream = process.stderr): Progress {
  const write = (text: string): void => void (to.isTTY && to.write(`\r\u001B[K${text}`))
  return { show: write, end: () => write('') }
}
