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

describe('the reporter of what was left out', () => {
  it('says nothing but the totals when nothing was', () => {
    expect(runSuite(`it('a', () => {})`, { strict: true })).toEqual({
      lines: ['1 passed, 0 failed'],
      code: 0,
    })
  })

  it('names what was missing, and passes', () => {
    const suite = `it('a', () => {}); describe('b', ${missing('a browser')}, () => { it('c', () => {}); it('d', () => {}) }); it('e', ${missing('strace')}, () => {})`
    expect(runSuite(suite)).toEqual({
      lines: [
        expect.stringContaining('Left out'),
        '  2 tests for want of a browser',
        '  1 test for want of strace',
        '1 passed, 0 failed, 3 skipped',
      ],
      code: 0,
    })
  })

  it('fails the run for it under CI_STRICT=1', () => {
    expect(
      runSuite(`it('a', () => {}); it('b', ${missing('strace')}, () => {})`, { strict: true }).code,
    ).toBe(1)
  })

  it('names a test that was left out without a reason', () => {
    expect(runSuite(`it('a', () => {}); it('b', { skip: true }, () => {})`).lines).toContain(
      '  1 test without a reason: b',
    )
  })

  it('does not miss what the caller’s own filter left out', () => {
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

  it('counts a hook that throws as a failure, and does not miss the tests that it kept from running', () => {
    const suite = `describe('a', () => { beforeAll(() => { throw new Error('no') }); describe('b', () => it('c', () => {})) })`
    const { lines, code } = runSuite(suite)
    expect({ last: lines.at(-1), code }).toEqual({ last: '0 passed, 1 failed', code: 1 })
  })
})
