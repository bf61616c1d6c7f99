import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { UNRELEASED, withRelease } from './changelog.mjs'
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

const root = fileURLToPath(new URL('..', import.meta.url))
const manifests = readdirSync(path.join(root, 'packages')).map(
  (name) => `packages/${name}/package.json`,
)
// `changeset` finds the packages by the lockfile.
const FILES = ['package.json', 'package-lock.json', 'scripts', '.changeset', 'CHANGELOG.md']
const versionIn = (manifest: string) => (JSON.parse(manifest) as { version: string }).version

/** Copies the files of a clone that a release reads into a new repository. */
function clone() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'release-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const file of [...FILES, ...manifests])
    cpSync(path.join(root, file), path.join(folder, file), { recursive: true })
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  spawnSync('git', ['init', '--quiet'], { cwd: folder })
  const release = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['scripts/release.mjs', ...args], { cwd: folder, encoding: 'utf8' })
  const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')
  const write = (file: string, text: string) => writeFileSync(path.join(folder, file), text)
  return { folder, read, release, write }
}

it('a release stops in a repository without a remote, before it publishes', () => {
  const { status, stderr } = clone().release()
  expect([status, stderr]).toEqual([1, expect.stringContaining('`origin` is missing')])
})

it('a wrong step is refused', () => {
  const { status, stderr } = clone().release('publish')
  expect([status, stderr]).toEqual([1, expect.stringContaining('release.mjs version')])
})

const changeset = (bump: string, text: string) => `---
'@org/agent-messaging-core': patch
'@org/agent-messaging-server': ${bump}
---

${text}
`

it('the changelog has no sections until the first release', () => {
  const [manifest, page] = ['packages/core/package.json', 'CHANGELOG.md'].map((file) =>
    readFileSync(path.join(root, file), 'utf8'),
  ) as [string, string]
  expect(page === UNRELEASED).toBe(versionIn(manifest) === '0.0.0')
})

it('each release adds a section to the changelog, by the largest bump of each changeset', () => {
  const intro = UNRELEASED.replace('Nothing is released yet.\n', '')
  const first = withRelease(UNRELEASED, '0.1.0', [changeset('minor', 'Sends messages.')])
  expect(first).toBe(`${intro}## 0.1.0\n\n### Minor changes\n\n- Sends messages.\n`)
  const second = withRelease(first, '1.0.0', [
    changeset('patch', 'Retries.'),
    changeset('major', 'Renames a route.\nSee its page.\n\nRun `migrate`.'),
    changeset('patch', 'Waits.'),
  ])
  expect(second).toBe(`${intro}## 1.0.0

### Major changes

- Renames a route.
  See its page.

  Run \`migrate\`.

### Patch changes

- Retries.
- Waits.

## 0.1.0

### Minor changes

- Sends messages.
`)
})

it('`version` makes the changelog and the versions of all packages from the changesets', () => {
  const { folder, read, release, write } = clone()
  write('CHANGELOG.md', UNRELEASED)
  write('.changeset/new.md', changeset('minor', 'Sends faxes.'))
  expect(release('version')).toMatchObject({ status: 0 })
  const versions = manifests.map((file) => versionIn(read(file)))
  const [version] = versions
  expect(new Set(versions)).toEqual(new Set([version]))
  const page = read('CHANGELOG.md')
  expect(page).toContain(`\n## ${version}\n\n### `)
  expect(page).toContain('\n- Sends faxes.\n')
  expect(page).not.toContain('Nothing is released')
  expect(readdirSync(path.join(folder, '.changeset'))).toEqual(['config.json'])
  const again = release('version')
  expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('no changeset')])
})
