import { expect } from 'vitest'
import type { Sandbox } from './sandbox.js'

export type Ended = {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}
type Env = Readonly<Record<string, string>>

/** For tests with many commands. Each command is a process that loads the whole server. */
export const SLOWLY = { timeout: 90_000 }

/** The settings of a database. */
export const ENV = {
  SERVICE_DATABASE_URL: 'file:service.db',
  SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
}

/** Runs command lines whose words are separated by single spaces. */
export function commandLine(sandbox: () => Sandbox) {
  async function cli(line: string, env: Env = ENV): Promise<Ended> {
    const program = sandbox().cli(line.split(' '), env)
    const code = await program.ended
    return { code, stdout: program.stdout(), stderr: program.stderr() }
  }
  async function json<T = Record<string, unknown>>(line: string, env?: Env): Promise<T> {
    const { code, stdout, stderr } = await cli(`${line} --json`, env)
    expect([code, stderr]).toEqual([0, ''])
    return JSON.parse(stdout) as T
  }
  return { cli, json }
}
