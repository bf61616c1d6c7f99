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

/** Runs npm with a title. Ends the process with the sentence of `problemOf` if npm fails. */
export async function npm(title, args, problemOf = npmProblem) {
  console.log(title)
  const file = process.env.npm_execpath
  const command = file?.endsWith('npm-cli.js') ? [process.execPath, file] : ['npm']
  const child = spawn(command[0], [...command.slice(1), ...args, '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (bytes) => (output += bytes))
  const [code] = await once(child, 'close').catch((error) => [1, (output = error.message)])
  if (code !== 0) stop(problemOf(output))
}

/** Returns a sentence for the output of an npm that failed. */
export function npmProblem(output) {
  if (
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/.test(output)
  )
    return 'npm cannot reach its registry. Connect this machine to the network, or configure a proxy for npm, and run the command again.'
  if (/\b(ENOSPC|EDQUOT)\b/.test(output))
    return `The disk is full. Free space for ${root}, and run the command again.`
  return `${output.trim()}\nThe installation failed. See the output of npm above.`
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
