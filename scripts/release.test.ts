import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { webAddress, withRepository } from './release.mjs'

const ADDRESS = 'https://git.example/team/service'

it.each([
  'https://git.example/team/service.git',
  'https://git.example/team/service/',
  'https://someone@git.example/team/service.git',
  'git@git.example:team/service.git',
  'ssh://git@git.example:2222/team/service.git',
])('the remote %s has a web address', (remote) => {
  expect(webAddress(remote)).toBe(ADDRESS)
})

it.each(['', '/srv/git/service.git', '../service'])('the remote "%s" has none', (remote) => {
  expect(webAddress(remote)).toBeUndefined()
})

it('a manifest gets the addresses of its folder', () => {
  expect(withRepository({ name: 'core' }, ADDRESS, 'packages/core')).toEqual({
    name: 'core',
    homepage: `${ADDRESS}/tree/main/packages/core#readme`,
    bugs: { url: `${ADDRESS}/issues` },
    repository: { type: 'git', url: `git+${ADDRESS}.git`, directory: 'packages/core' },
  })
})

it('a release stops in a repository without a remote, before it publishes', () => {
  const clone = realpathSync(mkdtempSync(path.join(tmpdir(), 'release-')))
  mkdirSync(path.join(clone, 'scripts'))
  cpSync(
    fileURLToPath(new URL('release.mjs', import.meta.url)),
    path.join(clone, 'scripts/release.mjs'),
  )
  spawnSync('git', ['init', '--quiet'], { cwd: clone })
  const { status, stderr } = spawnSync(process.execPath, ['scripts/release.mjs'], {
    cwd: clone,
    encoding: 'utf8',
  })
  rmSync(clone, { recursive: true })
  expect([status, stderr]).toEqual([1, expect.stringContaining('`origin` is missing')])
})
