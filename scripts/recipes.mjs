// Installs each recipe in its own folder, runs its npm script `check`, and compares the output of
// its script `start` with the one that its README shows:
//
//   node scripts/recipes.mjs [<recipe>…]
//
// Without names, skips the recipes that need a newer Node. A named recipe must fit this Node.
// Needs a built clone.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { LIMIT_MS } from './programs.mjs'

const root = fileURLToPath(new URL('../recipes', import.meta.url))

const named = process.argv.slice(2)
const all = readdirSync(root).filter((name) => existsSync(path.join(root, name, 'package.json')))
const failed = (named.length > 0 ? named : all).filter((name) => !passes(name))
if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0

function passes(name) {
  const folder = path.join(root, name)
  const { engines } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  if (!fits(engines.node)) {
    console.log(`${name}: not run, needs Node ${engines.node}`)
    return named.length === 0
  }
  const startedAt = performance.now()
  const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1)
  const isInstalled = npm(folder, 'ci', '--ignore-scripts', '--loglevel=error')
  const installed = seconds()
  const isPassed = isInstalled && npm(folder, 'run', '--silent', 'check') && startsAsShown(folder)
  console.log(
    `${name}: ${isPassed ? 'passed' : 'failed'} in ${seconds()} s, installation ${installed} s`,
  )
  return isPassed
}

/** Returns true without a start if the README shows no output. */
function startsAsShown(folder) {
  const readme = readFileSync(path.join(folder, 'README.md'), 'utf8')
  const [, shown] = /^You see:\n\n```\n([^]*?)```/m.exec(readme) ?? []
  if (shown === undefined) return true
  const { stdout } = spawnSync('npm', ['start', '--silent'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: LIMIT_MS,
  })
  if (stdout !== shown) console.error(`npm start printed:\n${stdout}\nThe README shows:\n${shown}`)
  return stdout === shown
}

/** `range` has the form `>=22.13`. */
function fits(range) {
  const [major, minor] = process.versions.node.split('.').map(Number)
  const [, least, leastMinor = 0] = /^>=(\d+)(?:\.(\d+))?$/.exec(range).map(Number)
  return major > least || (major === least && minor >= leastMinor)
}

/** Runs npm in the folder. Its output goes to this program's. */
function npm(cwd, ...args) {
  const { status, error } = spawnSync('npm', args, {
    cwd,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: LIMIT_MS,
    killSignal: 'SIGTERM',
  })
  if (error) console.error(`npm ${args.join(' ')}: ${error.message}`)
  return status === 0
}
