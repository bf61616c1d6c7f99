import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { contractOf, type Document } from '../../../adapter-http/test/contract.js'
import { freePort } from '../../../../scripts/free-port.mjs'

const CLI = fileURLToPath(new URL('../../bin/agent-messaging.js', import.meta.url))
/** For a busy machine on which several servers start at once. */
const START_LIMIT_MS = 100_000
export const API_KEY = 'an-api-key-for-the-tests'
export const CRON_SECRET = 'a-cron-secret-for-the-tests'

/** A process of `agent-messaging start` or `dev` that keeps its file and port over a crash. */
export type RealServer = {
  readonly url: string
  readonly folder: string
  readonly pid: () => number | undefined
  start(): Promise<void>
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** The output of all its processes so far. */
  readonly output: () => string
  /** Sends a request with the API key. Fails if the response violates the OpenAPI document. */
  api(
    method: string,
    route: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Response>
  dispose(): Promise<void>
}

type Options = {
  readonly command?: 'start' | 'dev'
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
  /** The source of the module for `--agents`. */
  readonly agents?: string
  /** The program of another release. */
  readonly cli?: string
  /** Another server whose file this one shares. */
  readonly beside?: RealServer
}

export async function realServer(options: Options = {}): Promise<RealServer> {
  const folder = options.beside?.folder ?? (await mkdtemp(path.join(tmpdir(), 'agent-messaging-')))
  const agentsFile = path.join(folder, 'agents.mjs')
  if (options.agents !== undefined) await writeFile(agentsFile, options.agents)
  const args = [
    ...(options.agents === undefined ? [] : ['--agents', agentsFile]),
    ...(options.args ?? []),
  ]
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | undefined
  let output = ''

  async function start(): Promise<void> {
    const env = {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: String(port),
      SERVICE_DATABASE_URL: `file:${path.join(folder, 'service.db')}`,
      SERVICE_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      SERVICE_BOOTSTRAP_API_KEY: API_KEY,
      CRON_SECRET,
      SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      SERVICE_PUBLIC_URL: url,
      ...options.env,
    }
    child = spawn(process.execPath, [options.cli ?? CLI, options.command ?? 'start', ...args], {
      env,
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const up = await until(() => child?.exitCode !== null || isUp(url), START_LIMIT_MS)
    if (!up || child.exitCode !== null) throw new Error(`the server did not start:\n${output}`)
  }

  async function kill(signal: NodeJS.Signals): Promise<number | null> {
    if (!child || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null
    const exit = once(child, 'exit')
    child.kill(signal)
    const [code] = (await exit) as [number | null]
    return code
  }

  async function api(
    method: string,
    route: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const answer = await fetch(url + route, {
      method,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const problems = await contract.problemsOf(method, route.replace(/\?.*/, ''), answer)
    if (problems.length > 0)
      throw new Error(`${method} ${route} → ${answer.status}: ${problems.join('; ')}`)
    return answer
  }

  await start()
  const contract = await contractFor(options, url)
  return {
    url,
    folder,
    pid: () => child?.pid,
    start,
    kill,
    output: () => output,
    api,
    dispose: async () => {
      await kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Servers with equal options have equal documents, and to make one takes as long as a start. */
const contracts = new Map<string, ReturnType<typeof contractOf>>()

async function contractFor(
  { beside: _, env: { SERVICE_DATABASE_URL: __, ...env } = {}, ...options }: Options,
  url: string,
): Promise<ReturnType<typeof contractOf>> {
  const likeness = JSON.stringify([options, env])
  const contract =
    contracts.get(likeness) ??
    contractOf((await (await fetch(`${url}/openapi.json`)).json()) as Document)
  contracts.set(likeness, contract)
  return contract
}

/**
 * Checks the condition every 20 ms. Returns false if it stays false until the limit, which is for a
 * busy machine.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  limitMs = 100_000,
): Promise<boolean> {
  for (const end = Date.now() + limitMs; Date.now() < end;) {
    if (await condition()) return true
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}

const isUp = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  )
