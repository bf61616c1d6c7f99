import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const reporter = fileURLToPath(new URL('left-out-reporter.ts', import.meta.url))
const missing = (name: string) => `{ skip: true, meta: { missing: ['${name}'] } }`

let folder: string

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'left-out-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

function runSuite(source: string, { strict = false, args = [] as readonly string[] } = {}) {
  writeFileSync(path.join(folder, 'suite.test.js'), source)
  const { CI_STRICT: _, ...env } = process.env
  const options = { encoding: 'utf8', env: { ...env, ...(strict && { CI_STRICT: '1' }) } } as const
  const run = spawnSync(
    process.execPath,
    [vitest, 'run', '--root', folder, '--globals', '--reporter', reporter, ...args],
    options,
  )
  return { lines: run.stdout.trimEnd().split('\n'), code: run.status }
}

describe('the reporter of skipped tests', () => {
  it('prints only the totals after a run without skipped tests', () => {
    expect(runSuite(`it('a', () => {})`, { strict: true })).toEqual({
      lines: ['1 passed, 0 failed'],
      code: 0,
    })
  })

  it('names the missing programs, and passes the run', () => {
    const suite = `it('a', () => {}); describe('b', ${missing('a browser')}, () => { it('c', () => {}); it('d', () => {}) }); it('e', ${missing('strace')}, () => {})`
    expect(runSuite(suite)).toEqual({
      lines: [
        expect.stringContaining('Skipped'),
        '  2 tests without a browser',
        '  1 test without strace',
        '1 passed, 0 failed, 3 skipped',
      ],
      code: 0,
    })
  })

  it('fails the run under CI_STRICT=1', () => {
    expect(
      runSuite(`it('a', () => {}); it('b', ${missing('strace')}, () => {})`, { strict: true }).code,
    ).toBe(1)
  })

  it('names a test that was skipped without a reason', () => {
    expect(runSuite(`it('a', () => {}); it('b', { skip: true }, () => {})`).lines).toContain(
      '  1 test without a reason: b',
    )
  })

  it('ignores tests that the caller’s filter excludes', () => {
    const { lines, code } = runSuite(`it('a', () => {}); it('b', () => {})`, {
      strict: true,
      args: ['-t', 'a'],
    })
    expect({ last: lines.at(-1), code }).toEqual({ last: '1 passed, 0 failed', code: 0 })
  })

  it('counts a file that does not load as a failure', () => {
    const { lines, code } = runSuite(`throw new Error('no')`)
    expect({ last: lines.at(-1), code }).toEqual({ last: '0 passed, 1 failed', code: 1 })
  })

  it('counts a hook that throws as a failure, and ignores the tests below the hook', () => {
    const suite = `describe('a', () => { beforeAll(() => { throw new Error('no') }); describe('b', () => it('c', () => {})) })`
    const { lines, code } = runSuite(suite)
    expect({ last: lines.at(-1), code }).toEqual({ last: '0 passed, 1 failed', code: 1 })
  })
})
