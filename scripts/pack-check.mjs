// Packs each package and checks its manifest and its types. Then a blank project imports every
// entry and compiles the examples of the READMEs, by Node's rules and by a bundler's.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const packages = readdirSync(path.join(root, 'packages'))
  .map((name) => path.join(root, 'packages', name))
  .map((home) => ({
    home,
    manifest: JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8')),
  }))
  .filter(({ manifest }) => !manifest.private && manifest.exports)

function requirePaperwork(home, manifest) {
  const { name, engines, license, sideEffects, keywords, author, publishConfig } = manifest
  const missing = ['README.md', 'LICENSE'].filter((file) => !existsSync(path.join(home, file)))
  if (!engines?.node || license !== 'MIT' || sideEffects !== false)
    missing.push('engines.node, license MIT or sideEffects false')
  if (!keywords?.length || !author || !publishConfig?.provenance)
    missing.push('keywords, author or publishConfig.provenance')
  if (!manifest.exports['./package.json']) missing.push('the export ./package.json')
  if (missing.length > 0) throw new Error(`${name} lacks ${missing.join(', ')}`)
}

/** Runs a program. Throws with its output if it fails. */
function run(command, args, cwd = root) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PATH: searchPath },
  })
  if (status !== 0)
    throw new Error(
      `${command} ${args.join(' ')} failed\n${error?.message ?? `${stdout}${stderr}`}`,
    )
}
const searchPath = [
  path.join(root, 'node_modules/.bin'),
  path.dirname(process.execPath),
  process.env.PATH,
].join(path.delimiter)

const folder = mkdtempSync(path.join(tmpdir(), 'pack-check-'))
const consumer = path.join(folder, 'consumer')
try {
  run('npm', [
    'pack',
    '--pack-destination',
    folder,
    ...packages.flatMap(({ manifest }) => ['--workspace', manifest.name]),
  ])
  for (const { home, manifest } of packages) {
    const tarball = path.join(
      folder,
      `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`,
    )
    requirePaperwork(home, manifest)
    run('publint', ['run', tarball, '--strict'])
    run('attw', [tarball, '--profile', 'esm-only', '--no-definitely-typed'])
    unpack(tarball, home, manifest)
  }
  importEverything()
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true })
}

/**
 * Installs a package with links to the dependencies that it declares. Replaces `npm install`, which
 * would compile the database driver again.
 */
function unpack(tarball, home, { name, dependencies, peerDependencies }) {
  const target = path.join(consumer, 'node_modules', name)
  mkdirSync(target, { recursive: true })
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', target])
  for (const dependency of Object.keys({ ...dependencies, ...peerDependencies })) {
    if (packages.some(({ manifest }) => manifest.name === dependency)) continue
    const [installed] = [home, root]
      .map((place) => path.join(place, 'node_modules', dependency))
      .filter((place) => existsSync(place))
    link(installed, path.join(target, 'node_modules', dependency))
  }
}

function link(from, to) {
  mkdirSync(path.dirname(to), { recursive: true })
  symlinkSync(from, to)
}

function importEverything() {
  const entries = packages.flatMap(({ manifest }) =>
    Object.keys(manifest.exports)
      .filter((entry) => !entry.endsWith('.json'))
      .map((entry) => path.posix.join(manifest.name, entry)),
  )
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    types: ['node'],
    noEmit: true,
  }
  const write = (file, lines) => writeFileSync(path.join(consumer, file), `${lines.join('\n')}\n`)
  write('package.json', [JSON.stringify({ type: 'module' })])
  const readmes = packages.map(({ home, manifest }, n) => {
    write(`readme${n}.ts`, [codeOf(home, manifest)])
    return `readme${n}.ts`
  })
  const files = ['types.ts', ...readmes]
  write('tsconfig.json', [JSON.stringify({ compilerOptions, files })])
  write('tsconfig.bundler.json', [
    JSON.stringify({
      compilerOptions: { ...compilerOptions, module: 'esnext', moduleResolution: 'bundler' },
      files,
    }),
  ])
  write(
    'types.ts',
    entries.map((entry, n) => `export type * as entry${n} from '${entry}'`),
  )
  write(
    'load.js',
    entries.filter((entry) => !entry.endsWith('/contract')).map((entry) => `import '${entry}'`),
  ) // contract loads only in vitest
  link(path.join(root, 'node_modules/@types/node'), path.join(consumer, 'node_modules/@types/node'))
  run('tsc', ['-p', consumer])
  run('tsc', ['-p', path.join(consumer, 'tsconfig.bundler.json')])
  run(process.execPath, ['load.js'], consumer)
  for (const { manifest } of packages)
    for (const program of Object.values(manifest.bin ?? {}))
      run(process.execPath, [path.join('node_modules', manifest.name, program), '--help'], consumer)
  console.log(`A blank project type-checks and loads ${entries.join(', ')}.`)
}

/** Returns the example of a package's README. */
function codeOf(home, { name }) {
  const [, code] =
    /```ts\n([\s\S]*?)```/.exec(readFileSync(path.join(home, 'README.md'), 'utf8')) ?? []
  if (!code) throw new Error(`the README of ${name} shows no code`)
  return code
}
