import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const running = new Map()
const KILL_AFTER_MS = 2_000

/**
 * Starts a program of `processes/`, which answers each command with a message. Servers, load and
 * receivers have separate processes, so that they do not disturb each other. The programs get
 * Node's options of this process, such as `--cpu-prof`.
 */
export async function child(program, options = {}) {
  const file = fileURLToPath(new URL(`processes/${program}.mjs`, import.meta.url))
  const forked = fork(file, [JSON.stringify(options)], {
    execArgv: [...process.execArgv, '--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = track(forked)
  const next = async () => {
    const failed = exited.then(([code]) =>
      Promise.reject(new Error(`${program} ended with ${code}`)),
    )
    const [message] = await Promise.race([once(forked, 'message'), failed])
    return message
  }
  const ended = async (signal) => {
    forked.kill(signal)
    await exited
  }
  return {
    ready: await next(),
    ask: async (command, details = {}) => {
      const answer = next()
      forked.send({ command, ...details })
      return answer
    },
    end: () => ended('SIGTERM'),
    kill: () => ended('SIGKILL'),
  }
}

/** Ends the process with the run. Returns a promise of its exit. */
export function track(started) {
  const exited = once(started, 'exit').finally(() => running.delete(started))
  running.set(started, exited)
  return exited
}

/** Ends all running processes. */
export async function endAll() {
  for (const one of running.keys()) one.kill('SIGTERM')
  const late = setTimeout(
    () => [...running.keys()].forEach((one) => one.kill('SIGKILL')),
    KILL_AFTER_MS,
  )
  await Promise.allSettled(running.values())
  clearTimeout(late)
}
