import { expect, it } from 'vitest'
import {
  envFileProblems,
  unknownVariables,
  unsupportedLogs,
  withSettingFiles,
} from './load-config.js'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseConfig } from './config.js'

it('a line of .env that sets nothing is named by its number, without its text', () => {
  const text = [
    '# a comment',
    '',
    'PORT=3000',
    'CRON_SECRET abc',
    'export HOST=x',
    'KEY="one',
    'two',
    'three"',
    '  loose',
    "A=''",
  ]
  const problems = envFileProblems([...text, 'SERVICE_MASTER_KEY: c2VjcmV0=', 'B = 1\r'].join('\n'))
  expect(problems).toEqual(
    [4, 9, 11].map((line) => `.env line ${line} is ignored: expected NAME=value`),
  )
})

it('an unknown variable is named with the most similar setting', () => {
  expect(
    unknownVariables({
      SERVICE_DATABSE_URL: 'file:x',
      SERVICE_PUBLIC_URL: 'https://a.example',
      SERVICE_MASTER_KEY_FILE: '/run/secrets/key',
      PATH: '/bin',
    }),
  ).toEqual([
    'SERVICE_DATABSE_URL is ignored: there is no such setting. Did you mean SERVICE_DATABASE_URL?',
  ])
})

it('an unknown variable is named without a suggestion when no setting is similar', () => {
  expect(unknownVariables({ SERVICE_QQQQQQQQQ: '1' })).toEqual([
    'SERVICE_QQQQQQQQQ is ignored: there is no such setting',
  ])
  expect(unknownVariables({ 'SERVICE_MASTER_KEY: c2VjcmV0': '' })).toEqual([])
})

it.each([
  ['otlp', ['OTEL_LOGS_EXPORTER is not supported: the server does not export its logs']],
  ['none', []],
  ['', []],
])('OTEL_LOGS_EXPORTER %j is answered with %j', (exporter, lines) => {
  expect(unsupportedLogs({ OTEL_LOGS_EXPORTER: exporter })).toEqual(lines)
})

const folder = mkdtempSync(path.join(tmpdir(), 'setting-files-'))
function fileOf(text: string): string {
  const file = path.join(folder, `${text.length}`)
  writeFileSync(file, text)
  return file
}

it('a setting can come from a file', () => {
  const env = { SERVICE_MASTER_KEY_FILE: fileOf(`${'ab'.repeat(32)}\n`), PORT_FILE: fileOf('8080') }
  const config = withSettingFiles(env).andThen(parseConfig)._unsafeUnwrap()
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
