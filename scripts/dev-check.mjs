// `npm run dev:check`: checks the format, the lint rules and the types of the files that differ
// from `main`. `.ci/run` checks all files.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr}`)
  return stdout.split('\n').filter((line) => line !== '')
}

/** Files that differ from the last commit that this branch shares with `main`, or are new. */
function changedFiles() {
  const [base] = git('merge-base', 'HEAD', 'main')
  return [
    ...git('diff', '--name-only', '--diff-filter=d', base),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]
}

/** Runs the program of a package, and returns true if it succeeds. */
async function succeeds(name, bin, ...args) {
  const manifest = require.resolve(`${name}/package.json`)
  const program = path.join(path.dirname(manifest), require(manifest).bin[bin])
  const child = spawn(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  return code === 0
}

const files = changedFiles()
if (files.length > 0) {
  const these = ['--no-error-on-unmatched-pattern', ...files]
  const results = await Promise.all([
    succeeds('oxfmt', 'oxfmt', '--check', ...these),
    succeeds('oxlint', 'oxlint', ...these),
    succeeds('typescript', 'tsc', '-b'),
  ])
  process.exitCode = results.every(Boolean) ? 0 : 1
}
