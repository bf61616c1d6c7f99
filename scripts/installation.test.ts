import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hasServer, isInstalled } from './installation.mjs'

describe('the check of the installation', () => {
  const asked = {
    '': {},
    'packages/core': { version: '0.1.0' },
    'node_modules/zod': { version: '4.0.0' },
    'node_modules/core': { link: true },
  }
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'installed-'))
    mkdirSync(path.join(folder, 'node_modules'))
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const write = (file: string, packages: object) =>
    writeFileSync(path.join(folder, file), JSON.stringify({ packages }))

  it('requests an installation in a fresh clone', () => {
    write('package-lock.json', asked)
    expect(isInstalled(folder)).toBe(false)
  })

  it('requests an installation after an interrupted one', () => {
    write('package-lock.json', asked)
    writeFileSync(path.join(folder, 'node_modules/.package-lock.json'), '{"packages": {')
    expect(isInstalled(folder)).toBe(false)
  })

  it('accepts an installation of this lockfile', () => {
    write('package-lock.json', asked)
    write('node_modules/.package-lock.json', asked)
    expect(isInstalled(folder)).toBe(true)
  })

  it('accepts an installation without the packages of other platforms', () => {
    write('package-lock.json', {
      ...asked,
      'node_modules/linter-mac': { version: '1.0.0', optional: true },
    })
    write('node_modules/.package-lock.json', asked)
    expect(isInstalled(folder)).toBe(true)
  })

  it.each([
    ['another version', { 'node_modules/zod': { version: '4.0.1' } }],
    ['a new package', { 'node_modules/hono': { version: '4.0.0' } }],
    ['a new workspace', { 'node_modules/http': { link: true } }],
  ])('requests an installation when the lockfile has %s', (_, change) => {
    write('package-lock.json', { ...asked, ...change })
    write('node_modules/.package-lock.json', asked)
    expect(isInstalled(folder)).toBe(false)
  })

  it('accepts an installation for the server until the lockfile changes', () => {
    write('package-lock.json', asked)
    const digest = createHash('sha256')
      .update(JSON.stringify({ packages: asked }))
      .digest('hex')
    writeFileSync(path.join(folder, 'node_modules/.server-lockfile'), digest)
    expect([hasServer(folder), isInstalled(folder)]).toEqual([true, false])
    write('package-lock.json', { ...asked, 'node_modules/hono': { version: '4.0.0' } })
    expect(hasServer(folder)).toBe(false)
  })

  it('accepts all packages for the server', () => {
    write('package-lock.json', asked)
    write('node_modules/.package-lock.json', asked)
    expect(hasServer(folder)).toBe(true)
  })
})
