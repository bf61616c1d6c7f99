import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * A program of `processes/` as its own process, which answers each message of ours with one of its own. Servers, load and
 * receivers never share a process: they would measure each other.
 */
export async function child(program, ...args) {
  const process = fork(fileURLToPath(new URL(`../processes/${program}.mjs`, import.meta.url)), args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const next = async () => {
    const [message] = await Promise.race([
      once(process, 'message'),
      once(process, 'exit').then(([code]) => Promise.reject(new Error(`${program} ended with ${code}`))),
    ])
    return message
  }
  const ready = await next()
  return {
    ready,
    ask: async (message) => {
      const answer = next()
      process.send(message)
      return answer
    },
    end: async () => {
      const exit = once(process, 'exit')
      process.kill('SIGTERM')
      await exit
    },
  }
}
