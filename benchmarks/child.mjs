import { fork, spawn } from 'node:child_process'
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

const CLI = fileURLToPath(new URL('../packages/server/bin/agent-messaging.js', import.meta.url))

/** Starts a server by the CLI. Returns when it prints that it listens. */
export async function startCli(databaseUrl) {
  const server = spawn(process.execPath, [CLI, 'start'], {
    env: {
      PATH: process.env.PATH,
      SERVICE_DATABASE_URL: databaseUrl,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      PORT: '0',
      HOST: '127.0.0.1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = track(server)
  const failed = ended.then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)))
  await Promise.race([printing(server.stdout, '"listening"'), failed])
  failed.catch(() => undefined)
  const end = async () => {
    server.kill('SIGTERM')
    await ended
  }
  return { pid: server.pid, end }
}

/** Resolves when `stream` has printed the text. Reads on after that. */
const printing = (stream, text) =>
  new Promise((resolve) => {
    let printed = ''
    stream.setEncoding('utf8').on('data', (chunk) => {
      printed += chunk
      if (printed.includes(text)) resolve()
    })
  })

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
