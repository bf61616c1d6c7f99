import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Returns a function that appends a line. The line survives a kill of the process. */
export function journal(folder: string, name: string): (line: object) => void {
  const file = path.join(folder, `${name}.jsonl`)
  return (line) => appendFileSync(file, `${JSON.stringify(line)}\n`)
}

/** Returns all lines of the journals with this prefix. */
export const readJournals = <Line>(folder: string, prefix: string): Line[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith(prefix))
    .flatMap((file) => readFileSync(path.join(folder, file), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
