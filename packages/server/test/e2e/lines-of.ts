import { existsSync, readFileSync } from 'node:fs'

/** The whole lines of a file to which another process appends, or none while it is absent. */
export const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
