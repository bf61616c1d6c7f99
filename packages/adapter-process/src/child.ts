import { spawn, type ChildProcess } from 'node:child_process'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { readLines } from './lines.js'
import { childEnvironment, type Environment, type Program } from './program.js'

/** A program that runs, or has run, as the leader of a process group of its own. */
export type Child = {
  /** Undefined when the operating system refused to start it. */
  readonly pid: number | undefined
  /** What is written after the child ended, or closed its end, goes nowhere: nothing here emits `error`. */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Resolves once its whole group has ended and its output has been read. Never rejects. */
  readonly exited: Promise<ChildExit>
  /** SIGTERM to its whole group; SIGKILL to what is left of that once it has exited, or after `graceMs`. Resolves as `exited` does. */
  stop(graceMs: number): Promise<void>
}

type ChildExit = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** How it ended, and the last line on its stderr that says something: `exited with code 1: ValueError: no such model`. */
  readonly reason: string
}

export type ChildOptions = {
  /** Ours, of which the child sees only what `childEnvironment` lets through. */
  readonly environment: Environment
  /** A line of at most 4 KiB, without NUL. */
  readonly onStderrLine: (line: string) => void
}

/**
 * What `/bin/sh` does before it becomes the program. The keeper, a process in the program's group, reads file 3, which nothing
 * is ever written to: it ends when we end, even by SIGKILL, and then the keeper kills the group (docs/decisions/0006).
 */
const KEPT = `(trap '' HUP INT QUIT PIPE ALRM TERM USR1 USR2; read -r line; kill -KILL 0) <&3 3<&- >/dev/null 2>&1 &
exec "$@" 3<&-`

const MAX_STDERR_LINE_BYTES = 4 * 1024
const MAX_REASON_BYTES = 500
/** Not worth being last words: the stack below an error, a lone brace or caret, and what Node says of itself when it crashes. */
const SAYS_LITTLE = /^\s|^[^\p{L}\p{N}]*$|^Node\.js v\d/u
/** Whoever left the group may hold the output open: it is not waited for longer. */
const OUTPUT_PATIENCE_MS = 1_000

/** A program that cannot be started is one that has exited: see `exited`. Never throws. */
export function startChild(program: Program, { environment, onStderrLine }: ChildOptions): Child {
  const spawned = spawnKept(program, childEnvironment(program, environment))
  if (typeof spawned === 'string') return neverStarted(spawned)
  const { pid, stdin, stdout, stderr } = spawned
  let lastWords = ''
  for (const stream of spawned.stdio) stream?.on('error', () => undefined) // The child's exit says it all.
  const words = readLines(stderr, MAX_STDERR_LINE_BYTES, (raw) => {
    const line = raw.replaceAll('\0', '')
    if (!SAYS_LITTLE.test(line)) lastWords = line
    onStderrLine(line)
  })
  const exited = exitOf(
    spawned,
    program,
    words.then(() => lastWords),
  )
  /** Once it has exited, the number of its group may be another's. */
  const signal = (name: 'SIGTERM' | 'SIGKILL') => {
    if (spawned.exitCode === null && spawned.signalCode === null) killGroup(pid, name)
  }

  return {
    pid,
    stdin,
    stdout,
    exited,
    async stop(graceMs) {
      signal('SIGTERM')
      const impatience = setTimeout(() => signal('SIGKILL'), graceMs)
      await exited
      clearTimeout(impatience)
    },
  }
}

type Spawned = ChildProcess & {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}

/** `detached` makes it the leader of a session and a group: no signal of our terminal reaches it, and one of ours reaches all of it. */
function spawnKept(
  { command, args = [], cwd }: Program,
  env: Readonly<Record<string, string>>,
): Spawned | string {
  try {
    const child = spawn('/bin/sh', ['-c', KEPT, 'sh', command, ...args], {
      cwd,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    })
    // Out of files or memory: it has emitted nothing yet, and never gets streams.
    if (child.stdin && child.stdout && child.stderr) return child
    child.on('error', () => undefined)
    return 'could not be started: too many open files'
  } catch (error) {
    return `could not be started: ${error instanceof Error ? error.message : String(error)}`
  }
}

function exitOf(child: Spawned, { cwd }: Program, lastWords: Promise<string>): Promise<ChildExit> {
  return new Promise((resolve) => {
    const end = (exit: Omit<ChildExit, 'reason'>, how: string) => {
      for (const stream of child.stdio) stream?.destroy()
      const reason = lastWords.then((words) => shortened(words === '' ? how : `${how}: ${words}`))
      resolve(reason.then((it) => ({ ...exit, reason: it })))
    }
    child.on('error', ({ message }) => {
      // The shell is always there: what is not is the folder, which the message does not name.
      const where = cwd === undefined ? '' : ` in ${cwd}`
      if (child.pid === undefined)
        end({ code: null, signal: null }, `could not be started${where}: ${message}`)
    })
    child.on('exit', (code, signal) => {
      killGroup(child.pid, 'SIGKILL') // Its own children, and the keeper: which is why the group's number is not another's yet.
      const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
      const impatience = setTimeout(() => end({ code, signal }, how), OUTPUT_PATIENCE_MS)
      child.on('close', () => {
        clearTimeout(impatience)
        end({ code, signal }, how)
      })
    })
  })
}

function killGroup(pid: number | undefined, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // Nobody is left in it.
  }
}

/** Whole characters only: what is cut in the middle of one must not become a lone surrogate. */
const shortened = (text: string): string =>
  Buffer.from(text).subarray(0, MAX_REASON_BYTES).toString('utf8')

function neverStarted(reason: string): Child {
  const exited = Promise.resolve({ code: null, signal: null, reason })
  return {
    pid: undefined,
    stdin: new PassThrough().resume(),
    stdout: new PassThrough().end(),
    exited,
    stop: async () => undefined,
  }
}
