import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const running = new Map()
const PATIENCE_MS = 2_000

/**
 * A program of `processes/` as its own process, which answers each command of ours with a message of its own. Servers, load and
 * receivers never share a process: they would measure each other. Node's own options are ours too, such as `--cpu-prof`.
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
  return {
    ready: await next(),
    ask: async (command, details = {}) => {
      const answer = next()
      forked.send({ command, ...details })
      return answer
    },
    end: async () => {
      forked.kill('SIGTERM')
      await exited
    },
  }
}

/** Sees to it that the process ends with the run, and tells when it did, and with what. */
export function track(started) {
  const exited = once(started, 'exit').finally(() => running.delete(started))
  running.set(started, exited)
  return exited
}

/** Ends what still runs. */
export async function endAll() {
  for (const one of running.keys()) one.kill('SIGTERM')
  const late = setTimeout(
    () => [...running.keys()].forEach((one) => one.kill('SIGKILL')),
    PATIENCE_MS,
  )
  await Promise.allSettled(running.values())
  clearTimeout(late)
}
