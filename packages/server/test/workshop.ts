import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
if (!existsSync(CLI))
  throw new Error('these tests run what is built: `npx tsc -b packages/server` first')

type Env = Readonly<Record<string, string>>

/** Output that a test may wait for. */
export type Program = {
  readonly stdout: () => string
  readonly stderr: () => string
  /** The first match, waited for; rejects with all output when the program ends without it. */
  find(pattern: RegExp): Promise<string>
  signal(name: NodeJS.Signals): void
  /** Its exit code. */
  readonly ended: Promise<number | null>
}

/** A directory with programs that run in it; nothing of either is left after `dispose`. */
export type Workshop = {
  readonly directory: string
  write(name: string, text: string): string
  run(command: string, args: readonly string[], env?: Env): Program
  cli(args: readonly string[], env?: Env): Program
  dispose(): Promise<void>
}

export function workshop(): Workshop {
  const directory = mkdtempSync(path.join(tmpdir(), 'server-cli-'))
  const children: ChildProcess[] = []
  const run: Workshop['run'] = (command, args, env = {}) => {
    const child = spawn(command, args, {
      cwd: directory,
      env: { PATH: process.env['PATH'] ?? '', ...env },
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
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    signal: (name) => void child.kill(name),
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

/** Resolves when the condition holds; the test's own timeout bounds it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}
