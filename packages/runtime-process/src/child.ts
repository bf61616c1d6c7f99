import { spawn, type ChildProcess } from 'node:child_process'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { readLines } from './lines.js'
import { childEnvironment, type Environment, type Program } from './program.js'

/** A running or ended program, which leads its own process group. */
export type Child = {
  /** Undefined if the operating system did not start the program. */
  readonly pid: number | undefined
  /** Discards writes after the program ended or closed its input. Never emits `error`. */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Resolves when the whole group has ended and its output is read. Never rejects. */
  readonly exited: Promise<ChildExit>
  /** Sends SIGTERM to the group, and SIGKILL after `graceMs`. Kills what outlives the program. */
  stop(graceMs: number): Promise<void>
}

type ChildExit = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The exit and the last useful stderr line: `exited with code 1: ValueError: no such model`. */
  readonly reason: string
}

export type ChildOptions = {
  /** The service's environment. The program inherits a few variables. */
  readonly environment: Environment
  /** Receives lines without NUL, cut at 4 KiB. */
  readonly onStderrLine: (line: string) => void
}

/**
 * `/bin/sh` starts a watchdog in the program's group and then becomes the program. File 3 stays
 * silent until the service ends, even by SIGKILL. Then the watchdog kills the group
 * (docs/decisions/0006).
 */
const WITH_WATCHDOG = `(trap '' HUP INT QUIT PIPE ALRM TERM USR1 USR2; read -r line; kill -KILL 0) <&3 3<&- >/dev/null 2>&1 &
exec "$@" 3<&-`

const MAX_STDERR_LINE_BYTES = 4 * 1024
const MAX_REASON_BYTES = 500
/** Lines that explain no exit: stack frames, lone braces and carets, and Node's version line. */
const MEANINGLESS = /^\s|^[^\p{L}\p{N}]*$|^Node\.js v\d/u
/** How long a process that left the group can keep the output open after the exit. */
const OUTPUT_TIMEOUT_MS = 1_000

/** Never throws: a program that cannot start is a child that has exited. */
export function startChild(program: Program, { environment, onStderrLine }: ChildOptions): Child {
  const spawned = spawnWithWatchdog(program, childEnvironment(program, environment))
  return typeof spawned === 'string'
    ? neverStarted(spawned)
    : new StartedChild(spawned, program, onStderrLine)
}

type Spawned = ChildProcess & {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}
type Ended = Omit<ChildExit, 'reason'> & { readonly how: string }

class StartedChild implements Child {
  readonly pid: number | undefined
  readonly stdin: Writable
  readonly stdout: Readable
  readonly exited: Promise<ChildExit>
  readonly #process: Spawned
  #lastLine = ''

  constructor(spawned: Spawned, program: Program, onStderrLine: (line: string) => void) {
    this.#process = spawned
    this.pid = spawned.pid
    this.stdin = spawned.stdin
    this.stdout = spawned.stdout
    // The exit reports every failure, so stream errors are ignored.
    for (const stream of spawned.stdio) stream?.on('error', () => undefined)
    const stderrEnd = readLines(spawned.stderr, MAX_STDERR_LINE_BYTES, (raw) => {
      const line = raw.replaceAll('\0', '')
      if (!MEANINGLESS.test(line)) this.#lastLine = line
      onStderrLine(line)
    })
    this.exited = endOf(spawned, program).then(async ({ how, ...exit }) => {
      for (const stream of spawned.stdio) stream?.destroy()
      await stderrEnd
      return { ...exit, reason: shortened(this.#lastLine ? `${how}: ${this.#lastLine}` : how) }
    })
  }

  async stop(graceMs: number): Promise<void> {
    this.#signal('SIGTERM')
    const timer = setTimeout(() => this.#signal('SIGKILL'), graceMs)
    await this.exited
    clearTimeout(timer)
  }

  /** Does nothing after the exit, because another group can have the same number by then. */
  #signal(name: 'SIGTERM' | 'SIGKILL') {
    const { exitCode, signalCode } = this.#process
    if (exitCode === null && signalCode === null) killGroup(this.pid, name)
  }
}

/** `detached`: the program leads a session and a group, without our terminal's signals. */
function spawnWithWatchdog(
  { command, args = [], cwd }: Program,
  env: Readonly<Record<string, string>>,
): Spawned | string {
  try {
    const child = spawn('/bin/sh', ['-c', WITH_WATCHDOG, 'sh', command, ...args], {
      cwd,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    })
    // Without free files or memory, Node creates no streams and emits an error later.
    if (child.stdin && child.stdout && child.stderr) return child
    child.on('error', () => undefined)
    return 'could not be started: too many open files'
  } catch (error) {
    return `could not be started: ${error instanceof Error ? error.message : String(error)}`
  }
}

function endOf(child: Spawned, { cwd }: Program): Promise<Ended> {
  return new Promise((resolve) => {
    child.on('error', ({ message }) => {
      if (child.pid !== undefined) return
      // The shell always exists. A missing folder is the cause, and Node's message does not name
      // it.
      const where = cwd === undefined ? '' : ` in ${cwd}`
      resolve({ code: null, signal: null, how: `could not be started${where}: ${message}` })
    })
    child.on('exit', (code, signal) => {
      // Kills the program's own children and the watchdog, which has kept the group number in use.
      killGroup(child.pid, 'SIGKILL')
      const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`
      const timer = setTimeout(resolve, OUTPUT_TIMEOUT_MS, { code, signal, how })
      child.on('close', () => {
        clearTimeout(timer)
        resolve({ code, signal, how })
      })
    })
  })
}

function killGroup(pid: number | undefined, signal: 'SIGTERM' | 'SIGKILL') {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The group is empty.
  }
}

/** Cuts the text by bytes, so that a cut character becomes U+FFFD and no lone surrogate. */
const shortened = (text: string) => Buffer.from(text).subarray(0, MAX_REASON_BYTES).toString('utf8')

function neverStarted(reason: string): Child {
  return {
    pid: undefined,
    stdin: new PassThrough().resume(),
    stdout: new PassThrough().end(),
    exited: Promise.resolve({ code: null, signal: null, reason }),
    stop: async () => undefined,
  }
}
