import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Told } from '../inside/orders.js'
import type { Order } from '../inside/points.js'
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
const STARTS = 60 // a database that was stopped at once may take half a minute to recover, on a machine with other things to do

/** `agent-messaging start` as a process that can be told when to die. */
export type ServerProcess = {
  readonly url: string
  readonly pid: () => number | undefined
  /** Until it is ready, however often that takes: what it needs may not be there yet. */
  start(killAt?: Order): Promise<void>
  /** Resolves when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** To the process as it is now, without waiting for anything. */
  signal(signal: NodeJS.Signals): void
  tell(told: Told): void
  /** Whether it ended by itself within the limit. */
  ended(limitMs: number): Promise<boolean>
  /** Exits that nobody asked for. */
  readonly accidents: readonly string[]
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
  const accidents: string[] = []
  let child: ChildProcess | undefined
  let isReady = false
  const isOver = (): boolean =>
    child === undefined || child.exitCode !== null || child.signalCode !== null

  function launch(killAt: Order | undefined): ChildProcess {
    const own = {
      PATH: process.env['PATH'],
      PORT: String(port),
      SERVICE_DATABASE_URL: databaseUrl,
      SERVICE_PUBLIC_URL: url,
    }
    const orders = {
      FAULTS_JOURNAL: folder,
      ...(killAt && { FAULTS_KILL_AT: JSON.stringify(killAt) }),
    }
    const launched = spawn(process.execPath, ARGUMENTS, {
      env: { ...environment, ...own, ...orders, ...env },
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true, // a Ctrl-C is for the harness, which ends it in its order
    })
    for (const stream of [launched.stdout, launched.stderr]) stream?.pipe(log, { end: false })
    launched.on('error', () => undefined) // a channel that closed with its process
    launched.on('exit', (code) => {
      // A server ends on SIGTERM with 0 and on SIGKILL with none; while it starts it may give up, for its database may be away.
      if (isReady && code !== null && code !== 0)
        accidents.push(`${name} ended by itself with exit code ${code}; see ${name}.log`)
      isReady = false
    })
    return launched
  }

  async function start(killAt?: Order): Promise<void> {
    for (let n = 0; n < STARTS; n++, await sleep(500)) {
      child = launch(killAt)
      await until(async () => isOver() || isUp(url), START_LIMIT_MS, 200)
      if (killAt) return
      if (!isOver() && (await isUp(url))) return void (isReady = true)
      await kill('SIGKILL')
    }
    throw new Error(`${name} does not start; see ${path.join(folder, `${name}.log`)}`)
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
    accidents,
    pid: () => (isOver() ? undefined : child?.pid),
    signal: (signal) => void child?.kill(signal),
    tell: (told) => void (child?.connected && child.send(told)),
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
