// Installs the packages of a clone. Imports only Node modules, because it runs before an installation.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { npm, root } from './run.mjs'

const SERVER = ['--omit=dev', '--workspace=packages/server', '--include-workspace-root']

/** Installs the packages of the server in a fresh clone. Updates an installation that is older. */
export async function installForServer() {
  if (existsSync(path.join(root, 'node_modules'))) {
    if (!hasServer(root)) await installAll()
    return
  }
  await npm('Installing the server (about 10 seconds)…', ['ci', ...SERVER])
  writeFileSync(recordOfServer(root), digestOf(root))
}

/** Installs what is missing. Packages that a running server uses stay. */
export async function installAll() {
  if (isInstalled(root)) return
  const isFresh = !existsSync(path.join(root, 'node_modules'))
  await npm('Installing all packages (about 20 seconds)…', [
    ...(isFresh ? ['ci'] : ['install', '--no-save']),
    '--include=dev',
  ])
}

/** Returns true if the packages of the server are those of the lockfile. */
export function hasServer(folder) {
  return textOf(recordOfServer(folder)) === digestOf(folder) || isInstalled(folder)
}

/**
 * Returns true if the last installation has all packages of the lockfile. npm writes its record
 * `node_modules/.package-lock.json` at the end of an installation.
 */
export function isInstalled(folder) {
  const installed = packagesOf(path.join(folder, 'node_modules/.package-lock.json'))
  if (!installed) return false
  return Object.entries(packagesOf(path.join(folder, 'package-lock.json')) ?? {})
    .filter(([place, { optional, devOptional }]) => {
      return place.includes('node_modules/') && !optional && !devOptional
    })
    .every(([place, { version }]) => place in installed && installed[place].version === version)
}

/** An installation for the server has no record of npm that tells it apart from an incomplete one. */
const recordOfServer = (folder) => path.join(folder, 'node_modules/.server-lockfile')

const digestOf = (folder) =>
  createHash('sha256')
    .update(readFileSync(path.join(folder, 'package-lock.json')))
    .digest('hex')

function packagesOf(lockfile) {
  try {
    return JSON.parse(textOf(lockfile) ?? '').packages
  } catch {
    return undefined
  }
}

const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)
