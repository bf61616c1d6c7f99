import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { readConfig } from './config.js'
import { withSettingFiles } from './setting-files.js'

const folder = mkdtempSync(path.join(tmpdir(), 'setting-files-'))
function fileOf(text: string): string {
  const file = path.join(folder, `${text.length}`)
  writeFileSync(file, text)
  return file
}

it('a setting can come from a file', () => {
  const env = { SERVICE_MASTER_KEY_FILE: fileOf(`${'ab'.repeat(32)}\n`), PORT_FILE: fileOf('8080') }
  const config = withSettingFiles(env).andThen(readConfig)._unsafeUnwrap()
  expect(config).toMatchObject({ port: 8080, masterKey: Buffer.alloc(32, 0xab) })
})

it('an empty file name counts as unset, and other variables are left alone', () => {
  const env = { SERVICE_MASTER_KEY_FILE: '', LOG_FILE: '/nowhere', PORT: '1' }
  expect(withSettingFiles(env)._unsafeUnwrap()).toEqual(env)
})

it('each file that gives no value is named, without the value', () => {
  const missing = path.join(folder, 'missing')
  const env = {
    CRON_SECRET: 'a-secret-of-the-environment',
    CRON_SECRET_FILE: fileOf('a-secret-of-a-file'),
    SERVICE_MASTER_KEY_FILE: missing,
    SERVICE_METRICS_TOKEN_FILE: fileOf(' \n'),
  }
  expect(withSettingFiles(env)._unsafeUnwrapErr()).toEqual([
    'CRON_SECRET and CRON_SECRET_FILE are both set; set only one of them',
    `SERVICE_MASTER_KEY_FILE must name a file with the value: ENOENT: no such file or directory, open '${missing}'`,
    `SERVICE_METRICS_TOKEN_FILE must name a file with the value: ${fileOf(' \n')} is empty`,
  ])
})
