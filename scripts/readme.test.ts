import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from './free-port.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const folder = mkdtempSync(path.join(tmpdir(), 'readme-'))
const started: ChildProcess[] = []
let port = 0
let receiverPort = 0
let key = ''

type Block = { readonly language: string; readonly text: string }
const blocksOf = (file: string): Block[] =>
  [...read(file).matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))

beforeAll(async () => {
  port = await freePort()
  receiverPort = await freePort()
  const agents = blocksOf('README.md').find(({ text }) => text.includes('greeter:'))?.text ?? ''
  writeFileSync(path.join(folder, 'my-agents.mjs'), agents)
  const cli = path.join(ROOT, 'packages/server/bin/agent-messaging.js')
  // A delivery that failed is sent again only when the test asks for a redelivery.
  const env = { ...process.env, PORT: `${port}`, SERVICE_WEBHOOK_RETRY_SCHEDULE: '1h' }
  const said = start(process.execPath, [cli, 'dev', '--agents', 'my-agents.mjs'], {
    cwd: folder,
    env,
  })
  await until(() => said().includes('Look at the delivery'))
  const [, exportKey = 'false'] = /`(export KEY=[^`]+)`/.exec(read('README.md')) ?? []
  key = (
    await promisify(execFile)('bash', ['-c', `${exportKey} && echo $KEY`], { cwd: folder })
  ).stdout.trim()
}, 60_000)
afterAll(() => {
  for (const child of started) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a program. Returns a function that returns the output until now. */
function start(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): () => string {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
  started.push(child)
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  return () => printed
}

async function until(isTrue: () => boolean): Promise<void> {
  for (
    const end = Date.now() + 30_000;
    !isTrue();
    await new Promise((resolve) => setTimeout(resolve, 50))
  )
    if (Date.now() > end) throw new Error('the condition did not become true in 30 s')
}

const here = (text: string): string =>
  text
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:4000', `127.0.0.1:${receiverPort}`)

/** Runs commands of a page with the ports of this test. Rejects if one command fails. */
async function shell(text: string, env: Record<string, string> = {}): Promise<string> {
  const script = `set -euo pipefail\n${here(text).replaceAll(/\bcurl /g, 'curl --silent --show-error --fail-with-body ')}`
  const options = { cwd: ROOT, env: { ...process.env, KEY: key, ...env } }
  return (await promisify(execFile)('bash', ['-c', script], options)).stdout
}

const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shapeOf(field)]))
}

describe('the README', () => {
  const blocks = blocksOf('README.md')
  const commands = blocks.flatMap(({ language, text }, at) =>
    language === 'sh' && text.includes('curl') ? [{ text, shown: blocks[at + 1] }] : [],
  )

  it('names the two commands that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    expect(blocks[0]?.text.match(/^npm \w+/gm)?.map((command) => command.slice(4))).toEqual([
      'start',
      'test',
    ])
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['start', 'test']))
  })

  it('shows commands that print the answers below them', { timeout: 60_000 }, async () => {
    expect(commands.length).toBeGreaterThanOrEqual(3)
    for (const { text, shown } of commands) {
      const answer = JSON.parse(await shell(inFolder(text))) as object
      if (shown?.language === 'json' && !text.includes('/v1/deliveries'))
        expect(shapeOf(answer)).toEqual(shapeOf(JSON.parse(shown.text)))
    }
  })

  it('shows an agent file whose agent answers', async () => {
    const send = commands.find(({ text }) => text.includes('/messages'))?.text ?? ''
    const answer = JSON.parse(await shell(send.replace('agents/echo', 'agents/greeter'))) as object
    expect(answer).toMatchObject({ status: 'responded', response: 'You said: Hello' })
  })

  it('stays short', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(126)
  })
})

describe('the quick start', () => {
  const [, receive = '', register = '', send = '', look = '', again = ''] = blocksOf(
    'docs/quick-start.md',
  ).map(({ text }) => inFolder(text))
  let webhookId = ''

  async function startReceiver(): Promise<() => string> {
    const env = { ...process.env, PORT: `${receiverPort}` }
    const said = start('bash', ['-c', `export ${receive.replace(' node ', '; exec node ')}`], {
      cwd: ROOT,
      env,
    })
    const waiting = '--silent --retry 30 --retry-connrefused --retry-delay 1'.split(' ')
    await promisify(execFile)('curl', [...waiting, here('http://127.0.0.1:4000/')])
    return said
  }

  it('leads to a verified webhook', { timeout: 60_000 }, async () => {
    const said = await startReceiver()
    ;({ id: webhookId } = JSON.parse(await shell(register)) as { id: string })
    expect(JSON.parse(await shell(send))).toMatchObject({ status: 'responded', response: 'Hello' })
    await until(() => said().includes('first Hello'))
    await shell(look)
    started.pop()?.kill('SIGKILL')
  })

  it('redelivers without delay after the receiver was down', { timeout: 60_000 }, async () => {
    const [list = '', redeliver = ''] = again
      .trim()
      .split('\n')
      .map((line) => line.replace(/^npx agent-messaging (\w+ \w+) ?/, '$1 '))
    await shell(send)
    const [waiting] = JSON.parse(await command(`${list} --webhook ${webhookId} --json`)) as {
      id: string
    }[]
    const said = await startReceiver()
    await command(redeliver.replace(/<.*>/, waiting?.id ?? ''))
    await until(() => said() !== '')
    expect(said()).toBe('first Hello\n')
  })
})

/** The files of the server are in a folder of the test. */
const inFolder = (text: string): string => text.replaceAll('data/', `${folder}/data/`)

/** Runs a command of the CLI in the folder where the server was started. */
async function command(words: string): Promise<string> {
  const cli = path.join(ROOT, 'packages/server/bin/agent-messaging.js')
  return (
    await promisify(execFile)(process.execPath, [cli, ...words.split(' ').filter(Boolean)], {
      cwd: folder,
    })
  ).stdout
}
