import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const running = new Set()

/**
 * A program of `processes/` as its own process, which answers each command of ours with a message of its own. Servers, load and
 * receivers never share a process: they would measure each other.
 */
export async function child(program, options = {}) {
  const file = fileURLToPath(new URL(`processes/${program}.mjs`, import.meta.url))
  const forked = fork(file, [JSON.stringify(options)], { execArgv: ['--expose-gc'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  running.add(forked)
  const exited = once(forked, 'exit').finally(() => running.delete(forked))
  const next = async () => {
    const failed = exited.then(([code]) => Promise.reject(new Error(`${program} ended with ${code}`)))
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

export function killAll() {
  for (const forked of running) forked.kill('SIGKILL')
}
