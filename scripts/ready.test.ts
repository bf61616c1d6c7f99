import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { driverFor, isInstalled, nodeProblem, root, run } from './ready.mjs'

describe('the check of Node’s version', () => {
  it.each(['20.19.0', '20.20.2', '22.0.0', '24.1.0'])('accepts %s', (version) => {
    expect(nodeProblem(version)).toBeUndefined()
  })

  it.each(['20.18.3', '18.20.0', '16.0.0'])(
    'refuses %s with a message that names both versions',
    (version) => {
      expect(nodeProblem(version)).toMatch(new RegExp(`20\\.19 .*${version}`))
    },
  )
})

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

  it('accepts an installation with the database driver of another Node', () => {
    write('package-lock.json', {
      ...asked,
      'node_modules/better-sqlite3': { version: '13.2.0', dependencies: { 'addon-api': '^8' } },
      'node_modules/addon-api': { version: '8.0.0' },
    })
    write('node_modules/.package-lock.json', {
      ...asked,
      'node_modules/better-sqlite3': { version: '12.11.1' },
    })
    expect(isInstalled(folder)).toBe(true)
  })

  it.each([
    ['no database driver', { 'node_modules/better-sqlite3': { version: '13.2.0' } }],
    ['another version', { 'node_modules/zod': { version: '4.0.1' } }],
    ['a new package', { 'node_modules/hono': { version: '4.0.0' } }],
    ['a new workspace', { 'node_modules/http': { link: true } }],
  ])('requests an installation when the lockfile has %s', (_, change) => {
    write('package-lock.json', { ...asked, ...change })
    write('node_modules/.package-lock.json', asked)
    expect(isInstalled(folder)).toBe(false)
  })
})

describe('the database driver', () => {
  type Entry = { readonly version: string; readonly hasInstallScript?: true }
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Entry>
  }
  const locked = packages['node_modules/better-sqlite3']

  it.each([{ napi: '9' }, { napi: undefined }])('is an older one on a Node with %o', (versions) => {
    expect(driverFor(versions, root)).toMatch(/^12\./)
  })

  it('is that of the lockfile on Node 22.14 and newer', () => {
    expect(driverFor({ napi: '10' }, root)).toBe(locked?.version)
  })

  it('needs no compiler in the lockfile', () => {
    expect(locked?.version).toMatch(/^13\./)
    expect(locked).not.toHaveProperty('hasInstallScript')
  })
})

describe('run', () => {
  it('returns the exit code of its program', async () => {
    expect(await run([process.execPath, '-e', 'process.exit(7)'])).toBe(7)
  })

  it('forwards signals to its program, and ends with the program’s exit code', async () => {
    const program = `process.on('SIGTERM', () => process.exit(3)); console.log('up'); setInterval(() => {}, 1000)`
    const module = new URL('ready.mjs', import.meta.url).href
    const script = `import { run } from '${module}'; process.exitCode = await run([process.execPath, '-e', ${JSON.stringify(program)}])`
    const step = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(step.stdout, 'data')
    step.kill('SIGTERM')
    expect(await once(step, 'exit')).toEqual([3, null])
  })
})
