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
import { createPrivateDirectory, readOrCreateText } from './private-files.js'

let root: string
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'private-files-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const modeOf = (file: string): number => statSync(file).mode & 0o777

describe('a private directory', () => {
  it('is readable only by its owner and ignored by git', () => {
    const directory = path.join(root, 'data')
    createPrivateDirectory(directory)
    expect(modeOf(directory)).toBe(0o700)
    expect(readFileSync(path.join(directory, '.gitignore'), 'utf8')).toBe('*\n')
  })

  it('is unchanged if it exists', () => {
    const directory = path.join(root, 'data')
    mkdirSync(directory, { mode: 0o755 })
    createPrivateDirectory(directory)
    expect(modeOf(directory)).toBe(0o755)
    expect(existsSync(path.join(directory, '.gitignore'))).toBe(false)
  })
})

describe('a private text file', () => {
  it('is created once and then read', () => {
    const file = path.join(root, 'key')
    expect(readOrCreateText(file, () => 'first')).toBe('first')
    expect(readOrCreateText(file, () => 'second')).toBe('first')
  })

  it('is readable only by its owner', () => {
    readOrCreateText(path.join(root, 'key'), () => 'secret')
    expect(modeOf(path.join(root, 'key'))).toBe(0o600)
  })

  it('has the text of a faster process, and no draft is left', () => {
    const file = path.join(root, 'key')
    const text = readOrCreateText(file, () => {
      writeFileSync(file, "the other's\n")
      return 'ours'
    })
    expect(text).toBe("the other's")
    expect(readdirSync(root)).toEqual(['key'])
  })

  it('throws file system errors', () => {
    expect(() => readOrCreateText(path.join(root, 'missing', 'key'), () => 'text')).toThrow(
      'ENOENT',
    )
    expect(() => readOrCreateText(root, () => 'text')).toThrow('EISDIR')
  })
})
