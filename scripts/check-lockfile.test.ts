import { describe, expect, it } from 'vitest'
import { lockfileProblems } from './check-lockfile.mjs'

describe('the lockfile check', () => {
  it('passes a complete lockfile', () => {
    const packages = {
      '': {},
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
      'node_modules/linter': { version: '1.0.0', optionalDependencies: { 'linter-mac': '1.0.0' } },
    }
    expect(lockfileProblems({ packages })).toEqual([expect.stringContaining('linter-mac')])
  })

  it('ignores the copy below another package', () => {
    const packages = {
      'node_modules/linter': { version: '1.0.0', optionalDependencies: { 'linter-mac': '1.0.0' } },
      'node_modules/other/node_modules/linter-mac': { version: '1.0.0' },
    }
    expect(lockfileProblems({ packages })).toHaveLength(1)
  })

  it('finds a host name', () => {
    const packages = {
      'node_modules/zod': { version: '4.0.0', resolved: 'https://host.example/zod.tgz' },
    }
    expect(lockfileProblems({ packages })).toEqual([expect.stringContaining('node_modules/zod')])
  })
})
