import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../bin/agent-messaging.js', import.meta.url))

type Env = Readonly<Record<string, string>>

/** A running program whose output a test can wait for. */
export type Program = {
  readonly stdout: () => string
  readonly stderr: () => string
  /** Waits for the first match. Rejects with all output if the program exits without a match. */
  find(pattern: RegExp): Promise<string>
  signal(name: NodeJS.Signals): void
  /** Closes the pipe that the program writes its output to. */
  closeStdout(): void
  /** The exit code. */
  readonly ended: Promise<number | null>
}

/** A temporary directory and the programs that run in it. `dispose` removes both. */
export type Sandbox = {
  readonly directory: string
  write(name: string, text: string): string
  run(command: string, args: readonly string[], env?: Env): Program
  cli(args: readonly string[], env?: Env): Program
  dispose(): Promise<void>
}

export function createSandbox(): Sandbox {
  const directory = mkdtempSync(path.join(tmpdir(), 'server-cli-'))
  const children: ChildProcess[] = []
  const run: Sandbox['run'] = (command, args, env = {}) => {
    const child = spawn(command, args, {
      cwd: directory,
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    return program(child)
  }
  return {
    directory,
    write(name, text) {
      const file = path.join(directory, name)
      writeFileSync(file, text)
      return file
    },
    run,
    cli: (args, env) => run(process.execPath, [CLI, ...args], env),
    async dispose() {
      const running = children.filter(
        (child) => child.exitCode === null && child.signalCode === null,
      )
      const exits = running.map((child) => once(child, 'exit'))
      for (const child of running) child.kill('SIGKILL')
      await Promise.all(exits)
      rmSync(directory, { recursive: true })
    },
  }
}

function program(child: ChildProcess): Program {
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    signal: (name) => void child.kill(name),
    closeStdout: () => void child.stdout?.destroy(),
    find: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const [match] = pattern.exec(stdout) ?? []
          if (match !== undefined) resolve(match)
        }
        child.stdout?.on('data', look)
        void ended.then(() => reject(new Error(`no ${pattern} in the output:\n${stdout}${stderr}`)))
        look()
      }),
  }
}

/** Resolves when the condition is true. The timeout of the test limits the wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}
