// Runs a slow check only when its inputs differ from those of its last pass:
//
//   node scripts/if-changed.mjs <name> <file or folder>… -- <command…>
//
// Inputs are the given files and folders of the repository, except ignored ones, the lockfile, the
// command, and the version of Node. Without a record of a pass, as on a new machine, the check
// runs. The records are in the folder `PASSED_CHECKS`, by default in git's folder.
// A check that does not run prints its name, and appends it to the file `NOT_RUN` if that is set.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const LOCKFILE = 'package-lock.json'
const USAGE = 'usage: node scripts/if-changed.mjs <name> <file or folder>… -- <command…>'

/**
 * Returns `unchanged` without running the command if it passed with the same inputs before.
 *
 * @typedef {{ root: string, records?: string, name: string }} Named
 * @param {Named & { inputs: readonly string[], command: readonly string[] }} check
 * @returns {'passed' | 'failed' | 'unchanged'}
 */
export function runIfChanged({ root, records, name, inputs, command }) {
  const folder = path.resolve(root, records ?? gitPath(root, 'passed-checks'))
  const record = path.join(folder, `${name.replaceAll(/[^\w.-]+/g, '-')}.sha256`)
  const hash = hashOf(root, [...inputs, LOCKFILE], command)
  if (contentOf(record)?.toString() === hash) return 'unchanged'
  const { status } = spawnSync(command[0], command.slice(1), { cwd: root, stdio: 'inherit' })
  if (status !== 0) return 'failed'
  mkdirSync(folder, { recursive: true })
  writeFileSync(record, hash)
  return 'passed'
}

/** Hashes names and contents. Throws if an input has no file, because its name is then wrong. */
function hashOf(root, inputs, command) {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([command, process.version, process.platform, process.arch]))
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--']
  for (const input of inputs) {
    const files = git(root, ...listed, input)
      .split('\0')
      .filter(Boolean)
    if (files.length === 0) throw new Error(`the input ${input} has no file`)
    for (const file of files.toSorted()) {
      const content = contentOf(path.join(root, file))
      hash.update(`${file}\0${content?.length ?? 'deleted'}\0`).update(content ?? '')
    }
  }
  return hash.digest('hex')
}

function contentOf(file) {
  try {
    return readFileSync(file)
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

const gitPath = (root, name) => git(root, 'rev-parse', '--git-path', name).trim()

function git(root, ...args) {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }
  const { status, stdout, stderr } = spawnSync('git', args, options)
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  return stdout
}

function main([name, ...rest]) {
  const end = rest.indexOf('--')
  const [inputs, command] = [rest.slice(0, Math.max(end, 0)), rest.slice(end + 1)]
  if (inputs.length === 0 || command.length === 0) {
    console.error(USAGE)
    return 2
  }
  const root = fileURLToPath(new URL('..', import.meta.url))
  const { PASSED_CHECKS: records, NOT_RUN: notRun } = process.env
  const result = runIfChanged({ root, records, name, inputs, command })
  if (result === 'unchanged') {
    console.log(`not run, because no input changed since its last pass: ${name}`)
    if (notRun) appendFileSync(notRun, `${name}\n`)
  }
  return result === 'failed' ? 1 : 0
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.exitCode = main(process.argv.slice(2))
