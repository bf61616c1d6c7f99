import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const BUNDLE = fileURLToPath(new URL('../../bundle', import.meta.url))

/** The built server with one more migration per store, and with another text of a function. */
export type NextRelease = { readonly cli: string; dispose(): void }

const CHANGES: readonly (readonly [what: RegExp, by: string])[] = [
  [
    /(const schema = \{\s*migrations: \[`[^`]*`)(?=\])/,
    `$1, \`alter table agent_messaging.messages add column note text;
      create table agent_messaging.notes (id text primary key, note text not null);
      create index notes_note on agent_messaging.notes (note)\``,
  ],
  [/(?=create or replace function agent_messaging\.settle_runs)/, '/* of the next release */ '],
  [
    /(const migrations = \[`[^`]*`)(?=\])/,
    `$1, \`alter table messages add column note text;
      create table notes (id text primary key, note text not null) strict;
      create index notes_note on notes (note)\``,
  ],
]

export function makeNextRelease(): NextRelease {
  const folder = mkdtempSync(`${BUNDLE}-`)
  cpSync(BUNDLE, folder, { recursive: true })
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'))
  for (const [what, by] of CHANGES) {
    const changed = files.filter((name) => replace(path.join(folder, name), what, by))
    if (changed.length !== 1) throw new Error(`${what} is in ${changed.length} files`)
  }
  return {
    cli: path.join(folder, 'cli.js'),
    dispose: () => rmSync(folder, { recursive: true }),
  }
}

function replace(file: string, what: RegExp, by: string): boolean {
  const text = readFileSync(file, 'utf8')
  if (!what.test(text)) return false
  writeFileSync(file, text.replace(what, by))
  return true
}
