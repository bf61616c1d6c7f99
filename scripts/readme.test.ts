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
const CLI = path.join(ROOT, 'packages/server/bin/agent-messaging.js')
const folder = mkdtempSync(path.join(tmpdir(), 'readme-'))
const started: ChildProcess[] = []
let port = 0
let receiverPort = 0
let key = ''
/** What `npm start` prints. */
let welcome = ''

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
  // A delivery that failed is sent again only when the test asks for a redelivery.
  const env = { ...process.env, PORT: `${port}`, SERVICE_WEBHOOK_RETRY_SCHEDULE: '1h' }
  const said = start(process.execPath, [CLI, 'dev', '--agents', 'my-agents.mjs'], {
    cwd: folder,
    env,
  })
  await until(() => / listen --try.*\n/.test(said()))
  welcome = said()
  key = readFileSync(path.join(folder, 'data/api-key'), 'utf8').trim()
})
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
    const end = Date.now() + 100_000;
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
async function shell(text: string): Promise<string> {
  const script = `set -euo pipefail\n${here(text).replaceAll(/\bcurl /g, 'curl --silent --show-error --fail-with-body ')}`
  const options = { cwd: ROOT, env: { ...process.env, KEY: key } }
  return (await promisify(execFile)('bash', ['-c', script], options)).stdout
}

const TRY = 'npx agent-messaging listen --try'

/** The output in a page that begins with this text. */
const shownIn = (file: string, beginning: string): string =>
  read(file)
    .split(/^```.*\n/m)
    .find((text) => text.startsWith(beginning)) ?? ''

/** The output without the parts that differ at each run. */
const constant = (output: string): string =>
  output
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1')
    .replace(/^\{[^]*\}$/m, '')
    .replace(/amk_\S+/, 'amk_')
    .replace(/code=\S+/, 'code=')
    .replace(/^ {2}Agents .*$/m, 'Agents')
    .replace(/^ {2}\S.* listen --try.*$/m, TRY)
    .replace(/^\d\d:\d\d:\d\d/m, 'time')
    .replaceAll(/delivery \S+/g, 'delivery')

describe('the README', () => {
  const blocks = blocksOf('README.md')

  it('names the two commands that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    expect(blocks[0]?.text.match(/^npm \w+/gm)?.map((command) => command.slice(4))).toEqual([
      'start',
      'test',
    ])
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['start', 'test']))
  })

  it('shows an agent file whose agent answers', async () => {
    const [, send = '', answer] =
      /`(npx agent-messaging send [^`]+)` prints `([^`]+)`/.exec(read('README.md')) ?? []
    expect(await command(send)).toBe(`${answer}\n`)
  })

  it('stays short', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(126)
  })
})

describe('the one command for a verified webhook', () => {
  it('is the same in the README, in the quick start and in the output of `npm start`', () => {
    for (const page of ['README.md', 'docs/quick-start.md'])
      expect(blocksOf(page).find(({ text }) => text.includes('--try'))?.text, page).toBe(`${TRY}\n`)
    expect(constant(welcome)).toBe(constant(shownIn('docs/quick-start.md', 'Agent Messaging is')))
  })

  it('prints what the pages show', async () => {
    const [, printed = ''] = /^ {2}(.* listen --try.*)$/m.exec(welcome) ?? []
    const { stdout } = await promisify(execFile)('bash', ['-c', printed], { cwd: folder })
    for (const page of ['README.md', 'docs/quick-start.md'])
      expect(constant(shownIn(page, 'Registered')), page).toBe(constant(stdout))
  })
})

describe('the quick start', () => {
  const [, , receive = '', register = '', send = '', look = '', again = ''] = blocksOf(
    'docs/quick-start.md',
  ).map(({ text }) => inFolder(text))
  let webhookId = ''

  async function startReceiver(): Promise<() => string> {
    const words = [...wordsOf(receive), '--port', `${receiverPort}`]
    const said = start(process.execPath, [CLI, ...words], { cwd: folder, env: process.env })
    await until(() => said().includes('Listening'))
    return said
  }

  it('leads to a verified webhook', async () => {
    const said = await startReceiver()
    ;({ id: webhookId } = JSON.parse(await shell(register)) as { id: string })
    expect(JSON.parse(await shell(send))).toMatchObject({ status: 'responded', response: 'Hello' })
    await until(() => said().includes('signature valid'))
    await shell(look)
    started.pop()?.kill('SIGKILL')
  })

  it('redelivers without delay after the receiver was down', async () => {
    const [list = '', redeliver = ''] = again.trim().split('\n')
    await shell(send)
    const [waiting] = JSON.parse(await command(`${list} --webhook ${webhookId} --json`)) as {
      id: string
    }[]
    const said = await startReceiver()
    await command(redeliver.replace(/<.*>/, waiting?.id ?? ''))
    await until(() => said().includes('signature valid'))
    expect(said().match(/message\.responded {2}delivery \S+/g)).toEqual([
      `message.responded  delivery ${waiting?.id}`,
    ])
  })
})

/** The files of the server are in a folder of the test. */
const inFolder = (text: string): string => text.replaceAll('data/', `${folder}/data/`)

/** The words after `npx agent-messaging`. */
const wordsOf = (line: string): string[] => line.trim().split(' ').slice(2)

/** Runs a command line of a page in the folder where the server was started. */
async function command(line: string): Promise<string> {
  const options = { cwd: folder, env: { ...process.env, PORT: `${port}` } }
  const words = [CLI, ...wordsOf(line)]
  return (await promisify(execFile)(process.execPath, words, options)).stdout
}
