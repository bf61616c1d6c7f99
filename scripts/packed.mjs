// Packed packages, as a registry would have them.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './programs.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

const all = readdirSync(path.join(root, 'packages'))
/** The packages that `createMessaging` needs. None of them depends on `pg`. */
const embedded = [
  'core',
  'sql-kit',
  'http-kit',
  'node',
  ...all.filter((name) => /^(adapter|runtime)-/.test(name)),
]

/** Packs packages into a new folder. Returns the dependencies of a package.json on the files. */
export function packInto(folder, names = all) {
  mkdirSync(folder)
  const workspaces = names.flatMap((name) => ['--workspace', `packages/${name}`])
  const output = run(root, 'npm', ['pack', '--json', '--pack-destination', folder, ...workspaces])
  return Object.fromEntries(
    Object.values(JSON.parse(output)).map(({ name, filename }) => [
      name,
      `file:${path.join(folder, filename)}`,
    ]),
  )
}

/** Installs packed packages and other dependencies with npm into a new folder, without `pg`. */
export function installEmbedded(folder, dependencies) {
  const packed = packInto(path.join(folder, 'packed'), embedded)
  const home = path.join(folder, 'app')
  mkdirSync(home)
  const manifest = {
    private: true,
    type: 'module',
    dependencies: { ...packed, ...dependencies },
  }
  writeFileSync(path.join(home, 'package.json'), JSON.stringify(manifest))
  run(home, 'npm', ['install', '--ignore-scripts', '--no-package-lock', '--loglevel=error'])
  return home
}
