import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { needs } from '../../../scripts/test-needs.js'
import { findSqliteDamage, openSqliteStorage } from '../src/index.js'
import { tempFile } from './temp-file.js'

const BACK_UP_AND_RESTORE = fileURLToPath(new URL('./back-up-and-restore.mjs', import.meta.url))
/** exFAT and some network file systems have no hard links. */
const WITHOUT_LINKS = [
  '-f',
  '-o',
  '/dev/null',
  '-e',
  'trace=link,linkat',
  '-e',
  'inject=link,linkat:error=EPERM',
]

it(
  'backup and restore work without hard links, and replace no existing file',
  needs('strace'),
  async () => {
    const path = tempFile()
    const copy = tempFile('copy.db')
    const taken = tempFile('taken.db')
    await openSqliteStorage({ path }).close()
    writeFileSync(taken, 'mine')
    const said = execFileSync(
      'strace',
      [...WITHOUT_LINKS, process.execPath, BACK_UP_AND_RESTORE, path, copy, taken],
      { encoding: 'utf8' },
    )
    expect(said).toBe(`${taken} is there already; name another file.`)
    expect(readFileSync(taken, 'utf8')).toBe('mine')
    for (const file of [path, copy, `${path}.old`]) expect(findSqliteDamage(file)).toBeUndefined()
    expect(statSync(`${path}.old`).mode & 0o777).toBe(0o600)
  },
)
