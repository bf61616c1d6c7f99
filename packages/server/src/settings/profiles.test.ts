import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { profilesFile, readProfile } from './profiles.js'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'profiles-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function written(text: string, mode = 0o600): string {
  const file = path.join(directory, 'profiles.json')
  writeFileSync(file, text)
  chmodSync(file, mode)
  return file
}

const TWO = JSON.stringify({
  production: { server: 'https://messages.example/', apiKey: 'amk_secret' },
  local: { server: 'http://127.0.0.1:3000' },
})

it('a profile has a server and can have an API key', () => {
  const file = written(TWO)
  expect(readProfile('production', file)).toEqual({
    server: 'https://messages.example',
    apiKey: 'amk_secret',
  })
  expect(readProfile('local', file)).toEqual({ server: 'http://127.0.0.1:3000' })
})

it.each([
  ['other', TWO, /has no profile "other"; it has: production, local$/],
  ['__proto__', TWO, /has no profile "__proto__"/],
  ['production', '{', /profiles\.json is not JSON$/],
  ['production', '{"production":{"apiKey":"amk_secret"}}', /is invalid at production\.server; /],
  ['production', '{"production":{"server":"amk_secret"}}', /is invalid at production\.server; /],
  ['production', '[]', /is invalid at the file; /],
])('the profile %s of %s fails with a message that quotes no secret', (name, text, said) => {
  const read = (): unknown => readProfile(name, written(text))
  expect(read).toThrow(said)
  expect(read).not.toThrow(/amk_secret/)
})

it.skipIf(process.platform === 'win32').each([0o640, 0o604, 0o660])(
  'a file with mode %o is refused with the command that helps',
  (mode) => {
    expect(() => readProfile('local', written(TWO, mode))).toThrow(/; run: chmod 600 \S+$/)
  },
)

it('a missing file is named', () => {
  const file = path.join(directory, 'none.json')
  expect(() => readProfile('local', file)).toThrow(`the profile file ${file} does not exist`)
})

it('the file is in $XDG_CONFIG_HOME if that is an absolute path, or else in ~/.config', () => {
  const rest = path.join('agent-messaging', 'profiles.json')
  expect(profilesFile({ XDG_CONFIG_HOME: '/settings' })).toBe(path.join('/settings', rest))
  for (const env of [{}, { XDG_CONFIG_HOME: '' }, { XDG_CONFIG_HOME: 'relative' }])
    expect(profilesFile(env)).toBe(path.join(homedir(), '.config', rest))
})
