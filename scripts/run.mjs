// Runs programs for the scripts of a clone. Old versions of Node load this file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Runs a program in the root, forwards signals to it, and returns its exit code. */
export async function run([command, ...args], options = {}) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options })
  const forward = (signal) => child.kill(signal)
  for (const signal of SIGNALS) process.on(signal, forward)
  const [code, signal] = await once(child, 'exit').catch((error) =>
    stop(`${command} could not be started: ${error.message}`),
  )
  for (const name of SIGNALS) process.off(name, forward)
  if (signal) process.kill(process.pid, signal)
  return code
}

const NPM_OPTIONS = [
  // npm names a full disk only in its warnings.
  '--loglevel=warn',
  // Without a network, npm's own pauses between retries take more than a minute.
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=10000',
]

/** Runs npm with a title. Returns what it printed on stderr, and if it succeeded. */
export async function npm(title, args) {
  console.log(title)
  const file = process.env.npm_execpath
  const command = file?.endsWith('npm-cli.js') ? [process.execPath, file] : ['npm']
  const child = spawn(command[0], [...command.slice(1), ...args, ...NPM_OPTIONS], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (bytes) => (output += bytes))
  const [code] = await once(child, 'close').catch((error) => [1, (output = error.message)])
  // On a full disk, npm succeeds with files that are not complete.
  return { output, isDone: code === 0 && !isFullDisk(output) }
}

const isFullDisk = (text) => /\bENOSPC\b|\bEDQUOT\b|No space left/i.test(text)

/** Returns a sentence for the output of an npm that failed. */
export function npmProblem(output) {
  if (
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/.test(output)
  )
    return 'npm cannot reach its registry. Connect this machine to the network, or configure a proxy for npm, and run the command again.'
  if (isFullDisk(output)) return FULL_DISK
  const errors = output.split('\n').filter((line) => line.startsWith('npm error'))
  return [...errors, 'The installation failed. See the output of npm above.'].join('\n')
}

const FULL_DISK = `The disk of ${root} is full. Free some space on it, and run the command again.`

/** Ends the process with a sentence if the error is a full disk, and otherwise throws the error. */
export function stopOnFullDisk(error) {
  if (isFullDisk(String(error))) stop(FULL_DISK)
  throw error
}

/**
 * Ends the process with a sentence on stderr.
 *
 * @param {string} sentence
 * @returns {never}
 */
export function stop(sentence) {
  console.error(sentence)
  process.exit(1)
}
