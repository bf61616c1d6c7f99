// Brings a fresh clone to where it can run: the right Node, the dependencies, the build. It says nothing when all is there.
// It runs before anything is installed, and on Nodes that are too old, so it imports nothing but Node's own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Ends the process, with a sentence, when something cannot be had. */
export async function makeReady() {
  const problem = nodeProblem(process.versions.node)
  if (problem) stop(problem)
  if (!isInstalled(root))
    await install(
      'Installing dependencies (about a minute; the database driver may have to be compiled)…',
      ['ci', '--include=dev'],
    )
  if (!hasWorkingDriver(root))
    await install('Building the database driver for this Node…', ['rebuild', 'better-sqlite3'])
  await build()
}

/** `version` as in process.versions.node. */
export function nodeProblem(version) {
  const [major, minor] = version.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return undefined
  return `This needs Node 20.19 or newer, and this is Node ${version}. Install a newer one, for example from https://nodejs.org.`
}

/** Whether npm's own record of its last install (it writes it last) has all that the lockfile asks for. */
export function isInstalled(folder) {
  const installed = packagesOf(path.join(folder, 'node_modules/.package-lock.json'))
  if (!installed) return false
  const asked = Object.entries(packagesOf(path.join(folder, 'package-lock.json')) ?? {})
  return asked
    .filter(
      ([place, entry]) => place.includes('node_modules/') && !entry.optional && !entry.devOptional,
    )
    .every(([place, entry]) => place in installed && installed[place].version === entry.version)
}

function packagesOf(lockfile) {
  try {
    return JSON.parse(readFileSync(lockfile, 'utf8')).packages
  } catch {
    return undefined
  }
}

/** False after a change of Node or of the machine: the driver is compiled for the one that installed it. */
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
  // Run by npm, this is the npm that was called; npm's own settings may leave out what the build and the driver need.
  const npm = process.env.npm_execpath?.endsWith('npm-cli.js')
    ? [process.execPath, process.env.npm_execpath]
    : ['npm']
  const code = await run(
    [...npm, ...args, '--ignore-scripts=false', '--loglevel=error'],
    ['ignore', 'ignore', 'inherit'],
  )
  if (code !== 0) stop('The installation failed; what npm says is above.')
}

/** `tsc -b` takes 0.2 s when nothing has changed. It goes by its own notes and would not see that an output was deleted. */
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
  if (code !== 0) stop('The build failed; what it says is above.')
}

/** Runs a program in the root, hands it the signals that this process gets, and gives its exit code. */
export async function run([command, ...args], stdio = 'inherit') {
  const child = spawn(command, args, { cwd: root, stdio })
  const forward = (signal) => child.kill(signal)
  for (const signal of SIGNALS) process.on(signal, forward)
  const [code, signal] = await once(child, 'exit').catch((error) =>
    stop(`${command} could not be started: ${error.message}`),
  )
  for (const name of SIGNALS) process.off(name, forward)
  if (signal) process.kill(process.pid, signal) // ended by a signal, as the child was
  return code
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

function stop(sentence) {
  console.error(sentence)
  process.exit(1)
}
