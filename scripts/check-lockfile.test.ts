import { describe, expect, it } from 'vitest'
import { lockfileProblems } from './check-lockfile.mjs'

const sqlite = { 'node_modules/better-sqlite3': { version: '12.11.1' } }

describe('the lockfile check', () => {
  it('passes a complete lockfile', () => {
    const packages = {
      '': {},
      ...sqlite,
      'node_modules/linter': {
        version: '1.0.0',
        optionalDependencies: { 'linter-linux': '1.0.0', 'linter-mac': '1.0.0' },
      },
      'node_modules/linter-linux': { version: '1.0.0' },
      'node_modules/linter/node_modules/linter-mac': { version: '1.0.0' },
    }
    expect(lockfileProblems({ packages })).toEqual([])
  })

  it('finds a platform package without an entry', () => {
    const packages = {
      ...sqlite,
      'node_modules/linter': { version: '1.0.0', optionalDependencies: { 'linter-mac': '1.0.0' } },
    }
    expect(lockfileProblems({ packages })).toEqual([expect.stringContaining('linter-mac')])
  })

  it('ignores the copy below another package', () => {
    const packages = {
      ...sqlite,
      'node_modules/linter': { version: '1.0.0', optionalDependencies: { 'linter-mac': '1.0.0' } },
      'node_modules/other/node_modules/linter-mac': { version: '1.0.0' },
    }
    expect(lockfileProblems({ packages })).toHaveLength(1)
  })

  it('finds a host name', () => {
    const packages = {
      ...sqlite,
      'node_modules/zod': { version: '4.0.0', resolved: 'https://host.example/zod.tgz' },
    }
    expect(lockfileProblems({ packages })).toEqual([expect.stringContaining('node_modules/zod')])
  })

  it('finds a held-back package at another version in any folder', () => {
    const packages = { ...sqlite, 'packages/x/node_modules/better-sqlite3': { version: '13.0.0' } }
    expect(lockfileProblems({ packages })).toEqual([expect.stringContaining('held at 12.11.1')])
  })

  it('finds a missing held-back package', () => {
    expect(lockfileProblems({ packages: {} })).toHaveLength(1)
  })
})
