import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isAlive, leftOf } from '../test/processes.js'
import { startChild, type Child } from './child.js'
import type { Program } from './program.js'

const node = (script: string, more: Omit<Program, 'command' | 'args'> = {}): Program => ({
  command: process.execPath,
  args: ['-e', script],
  ...more,
})

function started(
  program: Program,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): { child: Child; stderr: string[] } {
  const stderr: string[] = []
  const child = startChild(program, { environment, onStderrLine: (line) => stderr.push(line) })
  onTestFinished(() => child.stop(0))
  return { child, stderr }
}

async function outputOf({ stdout }: Child): Promise<string> {
  let text = ''
  for await (const chunk of stdout) text += String(chunk)
  return text
}

/** The process ids that a test program prints when all its processes run. */
async function pidsFrom({ stdout }: Child): Promise<number[]> {
  const [line] = (await once(stdout, 'data')) as [Buffer]
  return String(line).trim().split(' ').map(Number)
}

/** Ignores SIGTERM, like its own child, and prints both process ids. */
const STUBBORN = `
  process.on('SIGTERM', () => process.stderr.write('no\\n'))
  const grandchild = require('node:child_process').spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stdout.write('up')"])
  grandchild.stdout.once('data', () => process.stdout.write(process.pid + ' ' + grandchild.pid + '\\n'))
  setInterval(() => {}, 1000)`

describe('a child', () => {
  it('has the pid, the input, the output and the exit code of the program', async () => {
    const { child } = started(
      node(
        `process.stdin.on('data', (d) => { process.stdout.write(process.pid + ' ' + d); process.exitCode = 3; process.stdin.destroy() })`,
      ),
    )
    child.stdin.write('hello')
    expect(await outputOf(child)).toBe(`${child.pid} hello`)
    expect(await child.exited).toEqual({ code: 3, signal: null, reason: 'exited with code 3' })
  })

  it('inherits only the basic and the named variables', async () => {
    const ours = {
      PATH: process.env['PATH'],
      HOME: '/home/x',
      SERVICE_MASTER_KEY: 'secret',
      OPENAI_API_KEY: 'sk-1',
      NODE_OPTIONS: '--no-warnings',
    }
    const program = node('console.log(JSON.stringify(process.env))', {
      env: { MODE: 'fast' },
      inheritEnv: ['OPENAI_API_KEY', 'UNSET'],
    })
    const seen = JSON.parse(await outputOf(started(program, ours).child)) as Record<string, string>
    for (const name of ['PWD', 'OLDPWD', 'SHLVL', '_']) delete seen[name] // Shells set these.
    expect(seen).toEqual({ PATH: ours.PATH, HOME: '/home/x', OPENAI_API_KEY: 'sk-1', MODE: 'fast' })
  })

  it('has no open file besides its three', async () => {
    const { child } = started({
      command: '/bin/sh',
      args: ['-c', 'if (: <&3) 2>/dev/null; then echo open; else echo closed; fi'],
    })
    expect(await outputOf(child)).toBe('closed\n')
  })

  it('that segfaults reports the signal', async () => {
    const { child } = started(node(`process.kill(process.pid, 'SIGSEGV')`))
    expect(await child.exited).toEqual({
      code: null,
      signal: 'SIGSEGV',
      reason: 'was killed by SIGSEGV',
    })
  })

  it('reports its last stderr line as the reason, and passes on short lines without NUL', async () => {
    const { child, stderr } = started(
      node(
        `process.stderr.write('loading\\0\\n' + 'x'.repeat(5000) + '\\nno such model: é\\n\\n'); process.exitCode = 1`,
      ),
    )
    expect((await child.exited).reason).toBe('exited with code 1: no such model: é')
    expect(stderr).toEqual(['loading', 'x'.repeat(4096), 'no such model: é', ''])
  })

  it('that throws reports the error without the stack', async () => {
    const { child } = started(node(`throw Object.assign(new Error('no money'), { code: 402 })`))
    expect((await child.exited).reason).toBe('exited with code 1: Error: no money')
  })

  it.each([
    [
      'a missing command',
      { command: 'no-such-program-here' },
      /exited with code 127: .*no-such-program-here/,
    ],
    [
      'a missing folder',
      node('', { cwd: '/no/such/folder' }),
      /could not be started in \/no\/such\/folder: .*ENOENT/,
    ],
    [
      'an argument with NUL',
      { command: 'echo', args: ['\0'] },
      /could not be started: .*null bytes/,
    ],
  ] as const)('with %s has exited with a reason', async (_, program, reason) => {
    const { child } = started(program)
    child.stdin.write('goes nowhere')
    expect((await child.exited).reason).toMatch(reason)
    await child.stop(0)
  })

  it('that closes its input discards further writes', async () => {
    const { child } = started(
      node(`require('node:fs').closeSync(0); console.log('closed'); setTimeout(() => {}, 60_000)`),
    )
    await once(child.stdout, 'data')
    for (let n = 0; n < 3; n++)
      await new Promise((resolve) => child.stdin.write('x'.repeat(100_000), resolve))
    await child.stop(5_000)
    expect(await child.exited).toMatchObject({ signal: 'SIGTERM' })
  })
})

describe('no process survives', () => {
  it('a child that exits before its own child', async () => {
    const { child } = started({
      command: '/bin/sh',
      args: ['-c', 'sleep 600 & echo $$ $!; read -r line'],
    })
    const pids = await pidsFrom(child)
    child.stdin.end()
    await child.exited
    expect(await leftOf(pids)).toEqual([])
  })

  it('a stopped child that ignores SIGTERM, like its children', async () => {
    const { child, stderr } = started(node(STUBBORN))
    const pids = await pidsFrom(child)
    expect(pids).toHaveLength(2)
    const stopped = child.stop(3_000)
    await expect.poll(() => stderr).toEqual(['no'])
    await stopped
    expect((await child.exited).signal).toBe('SIGKILL')
    expect(await leftOf(pids)).toEqual([])
  })

  async function stubbornWithParent() {
    const parent = spawn(process.execPath, [
      fileURLToPath(new URL('../test/parent.mjs', import.meta.url)),
      JSON.stringify(node(STUBBORN)),
    ])
    onTestFinished(() => void parent.kill('SIGKILL'))
    const pids = await pidsFrom(parent as unknown as Child)
    expect(pids).toHaveLength(2)
    expect(pids.filter(isAlive)).toEqual(pids)
    return { parent, pids }
  }

  it('a SIGKILL of the service, even if the child ignores SIGTERM', async () => {
    const { parent, pids } = await stubbornWithParent()
    parent.kill('SIGKILL')
    expect(await leftOf(pids)).toEqual([])
  })

  it('a SIGKILL of the service during the stop of such a child', async () => {
    const { parent, pids } = await stubbornWithParent()
    parent.kill('SIGTERM')
    const [said] = (await once(parent.stderr, 'data')) as [Buffer]
    expect(String(said)).toBe('no\n')
    parent.kill('SIGKILL')
    expect(await leftOf(pids)).toEqual([])
  })
})
