import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { longSubjects } from './check-commits.mjs'

let root: string

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'commits-'))
})

afterEach(() => rmSync(root, { recursive: true }))

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: root })

const commit = (subject: string) => git('commit', '--quiet', '--allow-empty', '-m', subject)

function commitTheCheck(): void {
  mkdirSync(path.join(root, 'scripts'))
  writeFileSync(path.join(root, 'scripts/check-commits.mjs'), '')
  git('add', '.')
  commit(`Add the check ${'x'.repeat(80)}`)
}

describe('the check of commit subjects', () => {
  it('names a commit after the check whose subject has over 72 characters', () => {
    git('init', '--quiet')
    commit('x'.repeat(73))
    commitTheCheck()
    commit('é'.repeat(72))
    commit(`${'x'.repeat(73)}\n\n${'x'.repeat(100)}`)
    expect(longSubjects(root)).toEqual([
      expect.stringMatching(/^[0-9a-f]+: the subject has 73 characters, over 72$/),
    ])
  })

  it('passes without commits after the check, without the check and without git', () => {
    expect(longSubjects(root)).toEqual([])
    git('init', '--quiet')
    expect(longSubjects(root)).toEqual([])
    commit('x'.repeat(73))
    expect(longSubjects(root)).toEqual([])
    commitTheCheck()
    expect(longSubjects(root)).toEqual([])
  })
})
