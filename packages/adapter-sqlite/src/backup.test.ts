import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { backupSqlite, openSqliteStorage } from './index.js'

let directory: string
const file = (name: string): string => path.join(directory, name)
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'backup-'))
  await openSqliteStorage({ path: file('service.db') }).close()
})
afterEach(() => rmSync(directory, { recursive: true }))

it('leaves what somebody else has beside it, and is for its owner alone', async () => {
  writeFileSync(file('copy.db.partial'), 'mine')
  await backupSqlite({ path: file('service.db'), to: file('copy.db') })
  expect(readFileSync(file('copy.db.partial'), 'utf8')).toBe('mine')
  expect(statSync(file('copy.db')).mode & 0o777).toBe(0o600)
})
