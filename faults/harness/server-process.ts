import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServerCommand } from '../inside/commands.js'
import type { KillPoint } from '../inside/points.js'
import { programs } from './programs.js'
import { API_KEY, environment } from './settings.js'
import { freePort } from './shared.js'
import { sleep, until } from './until.js'

const ARGUMENTS = [
  '--import',
  programs.hooks.href,
  fileURLToPath(programs.server),
  'start',
  '--agents',
  fileURLToPath(programs.agents),
]
const START_LIMIT_MS = 120_000
const STARTS = 60 // A killed database recovers in up to half a minute on a busy machine.

/** A process of `agent-messaging start` with kill points. */
export type ServerProcess = {
  readonly url: string
  readonly pid: () => number | undefined
  /** Starts the server again until it is ready, because its database can be away. */
  start(killAt?: KillPoint): Promise<void>
  /** Resolves when the process has ended. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** Sends a signal without waiting. */
  signal(signal: NodeJS.Signals): void
  send(command: ServerCommand): void
  /** Returns true if the process ended without a signal within the limit. */
  ended(limitMs: number): Promise<boolean>
  /** A sentence for each exit without a fault. */
  readonly unexpectedExits: readonly string[]
}

type Place = {
  readonly folder: string
  readonly name: string
  readonly databaseUrl: string
  readonly env?: Record<string, string>
}

export async function serverProcess({
  folder,
  name,
  databaseUrl,
  env = {},
}: Place): Promise<ServerProcess> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const log = createWriteStream(path.join(folder, `${name}.log`), { flags: 'a' })
  const unexpectedExits: string[] = []
  let child: ChildProcess | undefined
  let isReady = false
  const isOver = (): boolean =>
    child === undefined || child.exitCode !== null || child.signalCode !== null

  function launch(killAt: KillPoint | undefined): ChildProcess {
    const own = {
      PATH: process.env['PATH'],
      PORT: String(port),
      SERVICE_DATABASE_URL: databaseUrl,
      SERVICE_PUBLIC_URL: url,
    }
    const commands = {
      FAULTS_JOURNAL: folder,
      ...(killAt && { FAULTS_KILL_AT: JSON.stringify(killAt) }),
    }
    const launched = spawn(process.execPath, ARGUMENTS, {
      env: { ...environment, ...own, ...commands, ...env },
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true, // The harness handles Ctrl-C and ends its servers.
    })
    for (const stream of [launched.stdout, launched.stderr]) stream?.pipe(log, { end: false })
    launched.on('error', () => undefined) // The channel closes with its process.
    launched.on('exit', (code) => {
      // SIGTERM leads to code 0 and SIGKILL to none. A start can fail while the database is away.
      if (isReady && code !== null && code !== 0)
        unexpectedExits.push(`${name} ended with exit code ${code} and no fault, see ${name}.log`)
      isReady = false
    })
    return launched
  }

  async function start(killAt?: KillPoint): Promise<void> {
    for (let n = 0; n < STARTS; n++, await sleep(500)) {
      child = launch(killAt)
      await until(async () => isOver() || isUp(url), START_LIMIT_MS, 200)
      if (killAt) return
      if (!isOver() && (await isUp(url))) return void (isReady = true)
      await kill('SIGKILL')
    }
    throw new Error(`${name} does not start, see ${path.join(folder, `${name}.log`)}`)
  }

  async function kill(signal: NodeJS.Signals): Promise<void> {
    if (!child || isOver()) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  return {
    url,
    start,
    kill,
    unexpectedExits,
    pid: () => (isOver() ? undefined : child?.pid),
    signal: (signal) => void child?.kill(signal),
    send: (command) => void (child?.connected && child.send(command)),
    ended: (limitMs) => until(isOver, limitMs),
  }
}

const isUp = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, {
    headers: { authorization: `Bearer ${API_KEY}` },
    signal: AbortSignal.timeout(2_000),
  }).then(
    (response) => response.ok,
    () => false,
  )
