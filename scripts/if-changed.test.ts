import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runIfChanged } from './if-changed.mjs'

let root: string

const write = (file: string, text: string) => writeFileSync(path.join(root, file), text)

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'if-changed-'))
  execFileSync('git', ['init', '--quiet'], { cwd: root })
  mkdirSync(path.join(root, 'clients'))
  write('.gitignore', 'clients/made\n')
  write('package-lock.json', '{}')
  write('clients/client.py', 'print(1)')
  write('other.txt', 'one')
})

afterEach(() => rmSync(root, { recursive: true }))

const check = (program = '', inputs = ['clients']) =>
  runIfChanged({ root, name: 'Python client', inputs, command: [process.execPath, '-e', program] })

describe('a check with inputs', () => {
  it('runs on a new machine, and not again with the same inputs', () => {
    const program = "require('fs').appendFileSync('clients/made', '.')"
    expect([check(program), check(program)]).toEqual(['passed', 'unchanged'])
    expect(existsSync(path.join(root, 'clients/made'))).toBe(true)
  })

  it.each<[string, () => void]>([
    ['an input', () => write('clients/client.py', 'print(2)')],
    ['the lockfile', () => write('package-lock.json', '{"packages":{}}')],
    ['a new file', () => write('clients/second.py', '')],
    ['a removed file', () => rmSync(path.join(root, 'clients/client.py'))],
  ])('runs again after a change of %s', (_, change) => {
    write('clients/kept.py', '')
    check()
    change()
    expect([check(), check()]).toEqual(['passed', 'unchanged'])
  })

  it('runs again when its command changed', () => {
    check()
    expect(check('1')).toBe('passed')
  })

  it('does not run again after changes of other files and of ignored ones', () => {
    check()
    write('other.txt', 'two')
    write('clients/made', 'by a run')
    expect(check()).toBe('unchanged')
  })

  it('runs again after a failure', () => {
    check()
    write('clients/client.py', 'print(2)')
    expect(check('process.exit(3)')).toBe('failed')
    expect(check()).toBe('passed')
  })

  it('refuses an input without a file', () => {
    expect(() => check('', ['client'])).toThrow('the input client has no file')
  })
})
