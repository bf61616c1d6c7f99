import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keptText, makeDataDirectory } from './data-directory.js'

let root: string
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'data-directory-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const modeOf = (file: string): number => statSync(file).mode & 0o777

describe('the data directory', () => {
  it('is for its owner alone and left out of git', () => {
    const directory = path.join(root, 'data')
    makeDataDirectory(directory)
    expect(modeOf(directory)).toBe(0o700)
    expect(readFileSync(path.join(directory, '.gitignore'), 'utf8')).toBe('*\n')
  })

  it('is left as it is when it exists', () => {
    const directory = path.join(root, 'data')
    mkdirSync(directory, { mode: 0o755 })
    makeDataDirectory(directory)
    expect(modeOf(directory)).toBe(0o755)
    expect(existsSync(path.join(directory, '.gitignore'))).toBe(false)
  })
})

describe('a kept text', () => {
  it('is made once, and read from then on', () => {
    const file = path.join(root, 'key')
    expect(keptText(file, () => 'first')).toBe('first')
    expect(keptText(file, () => 'second')).toBe('first')
  })

  it('may be read by its owner alone', () => {
    keptText(path.join(root, 'key'), () => 'secret')
    expect(modeOf(path.join(root, 'key'))).toBe(0o600)
  })

  it('is what another process kept while this one was making its own, and leaves no draft behind', () => {
    const file = path.join(root, 'key')
    const kept = keptText(file, () => {
      writeFileSync(file, "the other's\n")
      return 'ours'
    })
    expect(kept).toBe("the other's")
    expect(readdirSync(root)).toEqual(['key'])
  })

  it('throws what is wrong with the file system', () => {
    expect(() => keptText(path.join(root, 'missing', 'key'), () => 'text')).toThrow('ENOENT')
    expect(() => keptText(root, () => 'text')).toThrow('EISDIR')
  })
})
