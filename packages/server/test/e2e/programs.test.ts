import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'

/**
 * Ignores SIGTERM and has a child process that does the same. Answers with both process ids and its
 * environment.
 */
const STUBBORN = `
  import { spawn } from 'node:child_process'
  import { createInterface } from 'node:readline'
  const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
  const forked = spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')"])
  process.on('SIGTERM', () => undefined)
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { type, id } = JSON.parse(line)
    if (type === 'run') say({ type: 'answer', id, response: process.pid + ' ' + forked.pid + ' ' + JSON.stringify(process.env) })
  })
  forked.stdout.once('data', () => say({ type: 'ready', protocol: 1 }))
  setInterval(() => undefined, 1000)`

/** Starts a server with that program as an agent. `ask` waits until the agent runs. */
async function serverWithProgram(): Promise<{ server: RealServer; ask: () => Promise<string> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'programs-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const agentsFile = path.join(folder, 'agents.mjs')
  writeFileSync(path.join(folder, 'stubborn.mjs'), STUBBORN)
  const entry = { command: process.execPath, args: [path.join(folder, 'stubborn.mjs')] }
  writeFileSync(agentsFile, `export const programs = { stubborn: ${JSON.stringify(entry)} }`)
  const server = await realServer({ args: ['--agents', agentsFile] })
  onTestFinished(() => server.dispose())
  const runtime = { kind: 'process', program: 'stubborn' }
  await server.api('POST', '/v1/agents', { name: 'stubborn', runtime, desiredState: 'running' })
  return {
    server,
    ask: async () => {
      await until(
        async () =>
          ((await (await server.api('GET', '/v1/agents/stubborn')).json()) as { state: string })
            .state === 'running',
      )
      const sent = await server.api(
        'POST',
        '/v1/agents/stubborn/messages',
        { sessionId: 's', message: 'Who are you?' },
        { prefer: 'wait=30' },
      )
      return ((await sent.json()) as { response: string }).response
    },
  }
}

const pidsIn = (answer: string): number[] => answer.split(' ', 2).map(Number)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

it.each(['SIGKILL', 'SIGTERM'] as const)(
  'a program and its child processes end when the server gets %s (row X)',
  async (signal) => {
    const { server, ask } = await serverWithProgram()
    const first = pidsIn(await ask())
    expect(first.filter(isAlive)).toHaveLength(2)
    await server.kill(signal)
    expect(await until(() => !first.some(isAlive))).toBe(true)

    await server.start()
    const second = pidsIn(await ask())
    expect(second.filter(isAlive)).toHaveLength(2)
    expect(second).not.toEqual(first)
  },
)

it("the environment of a program contains none of the server's secrets (row X)", async () => {
  const { ask } = await serverWithProgram()
  const environment = (await ask()).replace(/^\d+ \d+ /, '')
  expect(Object.keys(JSON.parse(environment) as object)).toContain('PATH')
  expect(environment).not.toMatch(/SERVICE_|CRON_SECRET|an-api-key-for-the-tests/)
})
