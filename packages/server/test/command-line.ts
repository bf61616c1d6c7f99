import { format } from 'node:util'
import { expect } from 'vitest'
import { runProgram } from '../src/program.js'
import type { Sandbox } from './sandbox.js'

export type Ended = {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}
type Env = Readonly<Record<string, string>>

/** For tests with many commands. */
export const SLOWLY = { timeout: 240_000 }

/** The settings of a database. */
export const ENV = {
  SERVICE_DATABASE_URL: 'file:service.db',
  SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
}

/**
 * Runs command lines whose words are separated by single spaces, one at a time, in this process. A
 * new process would spend most of its time on loading the server. `Sandbox.cli` starts one.
 */
export function commandLine(sandbox: () => Pick<Sandbox, 'directory'>) {
  const cli = (line: string, env: Env = ENV): Promise<Ended> =>
    inDirectory(sandbox().directory, env, () => runProgram(line.split(' ')))
  async function json<T = Record<string, unknown>>(line: string, env?: Env): Promise<T> {
    const { code, stdout, stderr } = await cli(`${line} --json`, env)
    expect([code, stderr]).toEqual([0, ''])
    return JSON.parse(stdout) as T
  }
  return { cli, json }
}

/** Runs work like a process of its own: with a directory, an environment, and an output. */
async function inDirectory(directory: string, env: Env, work: () => Promise<void>): Promise<Ended> {
  const before = { directory: process.cwd(), env: { ...process.env } }
  const { log, error } = console
  const [out, err] = [process.stdout.write, process.stderr.write]
  const output = { stdout: '', stderr: '' }
  const take = (stream: keyof typeof output) => (text: string | Uint8Array) => {
    output[stream] += typeof text === 'string' ? text : Buffer.from(text).toString()
    return true
  }
  const takeLine =
    (stream: keyof typeof output) =>
    (...values: unknown[]) =>
      void (output[stream] += `${format(...values)}\n`)
  process.chdir(directory)
  setEnvironment({ PATH: before.env['PATH'], ...env })
  Object.assign(console, { log: takeLine('stdout'), error: takeLine('stderr') })
  Object.assign(process.stdout, { write: take('stdout') })
  Object.assign(process.stderr, { write: take('stderr') })
  try {
    await work()
    return { code: Number(process.exitCode ?? 0), ...output }
  } finally {
    process.exitCode = undefined
    Object.assign(console, { log, error })
    Object.assign(process.stdout, { write: out })
    Object.assign(process.stderr, { write: err })
    setEnvironment(before.env)
    process.chdir(before.directory)
  }
}

function setEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  for (const [name, value] of Object.entries(env))
    if (value !== undefined) process.env[name] = value
}
