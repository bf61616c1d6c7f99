// Installs the packages of a clone. Imports only Node modules, because it runs before an
// installation.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { npm, npmProblem, root, stop } from './run.mjs'

const MODULES = path.join(root, 'node_modules')
const SERVER = ['--omit=dev', '--workspace=packages/server', '--include-workspace-root']

/** Installs the packages of the server in a fresh clone. Updates an installation that is older. */
export async function installForServer() {
  if (hasServer(root)) return
  if (existsSync(MODULES)) return installAll()
  await install('Installing the server (about 10 seconds)…', ['ci', ...SERVER])
  writeFileSync(recordOfServer(root), digestOf(root))
}

/** Installs what is missing. Packages that a running server uses stay. */
export async function installAll() {
  if (isInstalled(root)) return
  const command = existsSync(MODULES) ? ['install', '--no-save'] : ['ci']
  await install('Installing all packages (about 20 seconds)…', [...command, '--include=dev'])
}

async function install(title, args) {
  const isFresh = !existsSync(MODULES)
  const { output, isDone } = await npm(title, args)
  if (isDone) return
  // npm can have recorded packages whose files are not complete.
  if (isFresh) rmSync(MODULES, { recursive: true, force: true })
  else rmSync(recordOfNpm(root), { force: true })
  stop(npmProblem(output))
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
  const installed = packagesOf(recordOfNpm(folder))
  if (!installed) return false
  return Object.entries(packagesOf(path.join(folder, 'package-lock.json')) ?? {})
    .filter(([place, { optional, devOptional }]) => {
      return place.includes('node_modules/') && !optional && !devOptional
    })
    .every(([place, { version }]) => place in installed && installed[place].version === version)
}

const recordOfNpm = (folder) => path.join(folder, 'node_modules/.package-lock.json')
/**
 * An installation for the server has no record of npm that tells it apart from an incomplete one.
 */
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
