// Programs that a check of packed packages runs in empty folders.
import { spawn, spawnSync } from 'node:child_process'

export const LIMIT_MS = 400_000

/** Runs a program, and returns what it prints. Throws if it fails. */
export function run(cwd, command, args, env = process.env) {
  const { status, stdout, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: LIMIT_MS,
  })
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed\n${error?.message ?? stdout}`)
  return stdout
}

/** Programs that run at the same time, and end with the check. */
export class Programs {
  #started = []

  /** Starts a command in a process group, because npx starts more processes. */
  start(cwd, command, env) {
    const child = spawn('bash', ['-c', command], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.printed = ''
    child.errors = ''
    child.stdout.on('data', (chunk) => (child.printed += chunk))
    child.stderr.on('data', (chunk) => (child.errors += chunk))
    child.stderr.pipe(process.stderr, { end: false })
    this.#started.push(child)
    return child
  }

  /** Sends a signal to a program and the processes that it started. Waits for its end. */
  async end(child, signal) {
    const isRunning = child.exitCode === null && child.signalCode === null
    const ended = isRunning && new Promise((resolve) => child.once('close', resolve))
    this.#started = this.#started.filter((other) => other !== child)
    if (isRunning) process.kill(-child.pid, signal)
    await ended
  }

  async endAll() {
    await Promise.all(this.#started.map((child) => this.end(child, 'SIGKILL')))
  }

  /** Returns the first true value. */
  async until(what, isTrue) {
    for (const end = Date.now() + LIMIT_MS; ;) {
      const done = await Promise.resolve()
        .then(isTrue)
        .catch(() => false)
      if (done) return done
      if (this.#started.some(({ exitCode }) => exitCode > 0))
        throw new Error(`a program ended before ${what}`)
      if (Date.now() > end) throw new Error(`waited too long until ${what}`)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}
