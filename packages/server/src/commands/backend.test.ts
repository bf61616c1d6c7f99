import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, homedir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it, afterEach, beforeEach } from 'vitest'
import { profilesFile, serverOf, readProfile } from './backend.js'

let home: string
beforeAll(() => {
  home = mkdtempSync(path.join(tmpdir(), 'backend-'))
  const file = profilesFile({ XDG_CONFIG_HOME: home })
  mkdirSync(path.dirname(file))
  writeFileSync(file, '{"p":{"server":"https://p.example","apiKey":"of-p"}}')
  chmodSync(file, 0o600)
})
afterAll(() => rmSync(home, { recursive: true }))

const ENV = { AGENT_MESSAGING_SERVER: 'https://e.example', AGENT_MESSAGING_API_KEY: 'of-e' }

it.each([
  [{}, {}, undefined],
  [{ project: 'support' }, {}, undefined],
  [{}, ENV, { server: 'https://e.example', apiKey: 'of-e' }],
  [{ project: 'x' }, ENV, { server: 'https://e.example', apiKey: 'of-e', project: 'x' }],
  [{ apiKey: 'of-o' }, ENV, { server: 'https://e.example', apiKey: 'of-o' }],
  [{ server: 'https://o.example' }, ENV, { server: 'https://o.example', apiKey: 'of-e' }],
  [{ profile: 'p' }, ENV, { server: 'https://p.example', apiKey: 'of-p' }],
  [{}, { AGENT_MESSAGING_PROFILE: 'p' }, { server: 'https://p.example', apiKey: 'of-p' }],
])('the options %j in the environment %j select %j', (options, env, selected) => {
  expect(serverOf(options, { XDG_CONFIG_HOME: home, ...env })).toEqual(selected)
})

it.each([
  [{ apiKey: 'x' }, {}, /^--api-key requires --server or --profile$/],
  [{}, { AGENT_MESSAGING_SERVER: 'https://e.example' }, /^an API key for https:\/\/e.example is/],
  [{}, { AGENT_MESSAGING_SERVER: 'e.example' }, /^AGENT_MESSAGING_SERVER must be a URL/],
  [
    { server: 'https://o.example' },
    { AGENT_MESSAGING_PROFILE: 'p' },
    /^an API key for https:\/\/o.example is required/,
  ],
])('the options %j in the environment %j are refused', (options, env, said) => {
  expect(() => serverOf(options, { XDG_CONFIG_HOME: home, ...env })).toThrow(said)
})

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
