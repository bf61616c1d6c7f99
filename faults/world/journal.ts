import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Writes lines that outlive the process: each is with the system when the call returns. */
export function journal(folder: string, name: string): (line: object) => void {
  const file = path.join(folder, `${name}.jsonl`)
  return (line) => appendFileSync(file, `${JSON.stringify(line)}\n`)
}

/** All lines of the journals whose names begin so. */
export const readJournals = <Line>(folder: string, prefix: string): Line[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith(prefix))
    .flatMap((file) => readFileSync(path.join(folder, file), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
