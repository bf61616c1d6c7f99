import { printable } from '../terminal.js'

/** Prints the value as JSON, or the text. */
export function print(json: boolean | undefined, value: unknown, text: string) {
  console.log(forStdout(json ? JSON.stringify(value, null, 2) : text))
}

/** Makes text safe for a terminal. Programs and files get the text unchanged. */
export const forStdout = (text: string, to: Pick<NodeJS.WriteStream, 'isTTY'> = process.stdout) =>
  to.isTTY ? printable(text) : text

export type Row = Readonly<Record<string, string>>

/** Formats rows as aligned columns, or returns `empty`. Control characters are removed. */
export function table(given: readonly Row[], empty: string) {
  const rows = given.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, onOneLine(value)])),
  )
  const [first] = rows
  if (!first) return empty
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

/** Formats one field per line. A nested value is shown as JSON. */
export const fieldTable = (value: object) =>
  table(
    Object.entries(value).map(([field, inner]: [string, unknown]) => ({
      field,
      value: typeof inner === 'string' ? inner : JSON.stringify(inner),
    })),
    '',
  )

const onOneLine = (text: string) => printable(text).replaceAll(/[\n\t]/g, ' ')

/** `CREATED AT` for `createdAt`. */
const titled = (name: string) => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toUpperCase()

/** The time of the day of this machine, after the date if that is not today. */
export function localTime(instant: string, now = new Date()) {
  const at = new Date(instant)
  // Swedish dates have the form of ISO 8601.
  const date = at.toLocaleDateString('sv')
  const time = at.toLocaleTimeString('sv')
  return date === now.toLocaleDateString('sv') ? time : `${date} ${time}`
}

/** A progress line on stderr, shown only on a terminal. */
export function progress(to: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr) {
  const write = (text: string) => void (to.isTTY && to.write(`\r\u001B[K${text}`))
  return { show: write, end: () => write('') }
}

const LINE_EVERY_MS = 5_000

/** Like `progress` on a terminal. In a log, prints a line every five seconds. */
export function loggedProgress(
  to: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
  now = () => performance.now(),
) {
  if (to.isTTY) return progress(to)
  let last = now()
  function show(text: string) {
    if (now() - last < LINE_EVERY_MS) return
    last = now()
    to.write(`${text}\n`)
  }
  return { show, end: () => undefined }
}
