// Prepares a fresh clone: checks Node's version, installs the dependencies and builds.
// Runs before the installation and on old versions of Node, so this file imports only Node modules.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

const DRIVER = 'node_modules/better-sqlite3'
/** The last driver for Node before 22.14. The lockfile holds a newer one with binaries inside. */
const OLD_DRIVER = '12.11.1'
/** The driver of the lockfile crashes a Node whose Node-API is older. */
const NODE_API_OF_LOCKFILE_DRIVER = 10

/** Prepares the clone. Ends the process with a message if a step fails. */
export async function makeReady() {
  await installDependencies()
  await build()
}

/** Installs the lockfile, and the database driver that runs on this Node. */
export async function installDependencies() {
  const problem = nodeProblem(process.versions.node)
  if (problem) stop(problem)
  if (!isInstalled(root))
    await install('Installing dependencies (about a minute)…', ['ci', '--include=dev'])
  const driver = driverFor(process.versions, root)
  if (installedDriver(root) !== driver) {
    const pause = driver === OLD_DRIVER ? ' npm compiles it once, in about a minute.' : ''
    await install(`Installing the database driver ${driver}.${pause}`, [
      'install',
      '--no-save',
      '--include=dev',
      `better-sqlite3@${driver}`,
    ])
  }
  if (!hasWorkingDriver(root))
    await install('Building the database driver for this Node…', ['rebuild', 'better-sqlite3'])
}

/** Returns the version of the database driver that a Node needs. */
export function driverFor({ napi }, folder) {
  if (Number(napi ?? 0) < NODE_API_OF_LOCKFILE_DRIVER) return OLD_DRIVER
  return packagesOf(path.join(folder, 'package-lock.json'))[DRIVER].version
}

const installedDriver = (folder) =>
  packagesOf(path.join(folder, 'node_modules/.package-lock.json'))?.[DRIVER]?.version

export function nodeProblem(version) {
  const [major, minor] = version.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return undefined
  return `Node 20.19 or newer is required, and this is Node ${version}. Install a newer version, for example from https://nodejs.org.`
}

/**
 * Returns true if the last installation has all packages of the lockfile. The database driver can
 * have another version, without the packages of the newer one. npm writes its record
 * `node_modules/.package-lock.json` at the end of an installation.
 */
export function isInstalled(folder) {
  const installed = packagesOf(path.join(folder, 'node_modules/.package-lock.json'))
  if (!installed) return false
  const asked = packagesOf(path.join(folder, 'package-lock.json')) ?? {}
  const ofDriver = Object.keys(asked[DRIVER]?.dependencies ?? {})
  return Object.entries(asked)
    .filter(
      ([place, entry]) => place.includes('node_modules/') && !entry.optional && !entry.devOptional,
    )
    .filter(([place]) => !ofDriver.includes(place.replace('node_modules/', '')))
    .every(
      ([place, entry]) =>
        place in installed && (place === DRIVER || installed[place].version === entry.version),
    )
}

function packagesOf(lockfile) {
  try {
    return JSON.parse(readFileSync(lockfile, 'utf8')).packages
  } catch {
    return undefined
  }
}

/** Returns false if the driver was compiled for another version of Node or another machine. */
function hasWorkingDriver(folder) {
  try {
    const Database = createRequire(path.join(folder, 'package.json'))('better-sqlite3')
    new Database(':memory:').close()
    return true
  } catch {
    return false
  }
}

async function install(title, args) {
  console.log(title)
  // Uses the npm that runs this script. The two flags overrule settings of the user.
  const npm = process.env.npm_execpath?.endsWith('npm-cli.js')
    ? [process.execPath, process.env.npm_execpath]
    : ['npm']
  const code = await run(
    [...npm, ...args, '--ignore-scripts=false', '--loglevel=error'],
    ['ignore', 'ignore', 'inherit'],
  )
  if (code !== 0) stop('The installation failed. See the output of npm above.')
}

/** Builds all packages. Forces a full build if an output is missing: `tsc -b` does not notice. */
async function build() {
  const packages = readdirSync(path.join(root, 'packages')).map((name) =>
    path.join(root, 'packages', name),
  )
  const projects = packages.filter((folder) => existsSync(path.join(folder, 'tsconfig.json')))
  const isBuilt = projects.every((folder) => existsSync(path.join(folder, 'dist/index.js')))
  if (!isBuilt) console.log('Building…')
  const tsc = [process.execPath, path.join(root, 'node_modules/typescript/bin/tsc')]
  const code = await run([
    ...tsc,
    '-b',
    ...projects,
    path.join(root, 'faults'),
    ...(isBuilt ? [] : ['--force']),
  ])
  if (code !== 0) stop('The build failed. See the output of tsc above.')
  const bundle = path.join(root, 'packages/server/make-bundle.mjs')
  if ((await run([process.execPath, bundle])) !== 0) stop('The server could not be bundled.')
}

/** Runs a program in the root, forwards signals to it, and returns its exit code. */
export async function run([command, ...args], stdio = 'inherit') {
  const child = spawn(command, args, { cwd: root, stdio })
  const forward = (signal) => child.kill(signal)
  for (const signal of SIGNALS) process.on(signal, forward)
  const [code, signal] = await once(child, 'exit').catch((error) =>
    stop(`${command} could not be started: ${error.message}`),
  )
  for (const name of SIGNALS) process.off(name, forward)
  if (signal) process.kill(process.pid, signal)
  return code
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

function stop(sentence) {
  console.error(sentence)
  process.exit(1)
}
