import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { profilesFile } from '../settings/profiles.js'
import { serverOf } from './backend.js'

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
  [{ apiKey: 'of-o' }, ENV, { server: 'https://e.example', apiKey: 'of-o' }],
  [{ server: 'https://o.example' }, ENV, { server: 'https://o.example', apiKey: 'of-e' }],
  [{ profile: 'p' }, ENV, { server: 'https://p.example', apiKey: 'of-p' }],
  [{}, { AGENT_MESSAGING_PROFILE: 'p' }, { server: 'https://p.example', apiKey: 'of-p' }],
])('the options %j in the environment %j select %j', (options, env, selected) => {
  expect(serverOf(options, { XDG_CONFIG_HOME: home, ...env })).toEqual(selected)
})

it.each([
  [{ apiKey: 'x' }, {}, /^--api-key requires --server or --profile$/],
  [{ project: 'x' }, ENV, /^a server cannot be combined with --project/],
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
