import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'

const CALL = { toolCallId: 'c1', toolName: 'look' }
const PARTS = [
  { type: 'reasoning-delta', id: 'r', text: 'Think.' },
  { type: 'tool-input-available', ...CALL, input: { at: 1 } },
  { type: 'tool-output-available', toolCallId: 'no call', output: 1 },
  { type: 'tool-output-available', toolCallId: 'c1', output: '</script>' },
]
const STORED = [
  { type: 'reasoning', text: 'Think.' },
  {
    type: 'tool',
    ...CALL,
    state: 'output-available',
    input: { at: 1 },
    output: '</script>',
  },
  { type: 'text', text: 'A cat.' },
]

const PROGRAM = `
  import { createInterface } from 'node:readline'
  const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n')
  say({ type: 'ready', protocol: 1 })
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { type, id } = JSON.parse(line)
    if (type === 'ping') say({ type: 'pong' })
    if (type !== 'run') return
    for (const part of ${JSON.stringify(PARTS)}) say({ type: 'part', id, part })
    say({ type: 'answer', id, response: 'A cat.' })
  })`

async function send(server: RealServer, name: string): Promise<string> {
  const sent = await server.api(
    'POST',
    `/v1/agents/${name}/messages`,
    { sessionId: 's', message: 'Hi' },
    { prefer: 'respond-async' },
  )
  const { messageId } = (await sent.json()) as { messageId: string }
  return `/v1/agents/${name}/messages/${messageId}`
}

const read = async (server: RealServer, route: string) =>
  (await (await server.api('GET', route)).json()) as Record<string, unknown>

it('parts of a program are stored with its answer', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'parts-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const agentsFile = path.join(folder, 'agents.mjs')
  const file = path.join(folder, 'program.mjs')
  writeFileSync(file, PROGRAM)
  const entry = { command: process.execPath, args: [file] }
  writeFileSync(agentsFile, `export const programs = { looking: ${JSON.stringify(entry)} }`)
  const server = await realServer({ args: ['--agents', agentsFile] })
  onTestFinished(() => server.dispose())
  const runtime = { kind: 'process', program: 'looking' }
  await server.api('POST', '/v1/agents', { name: 'looking', runtime, desiredState: 'running' })
  await until(async () => (await read(server, '/v1/agents/looking'))['state'] === 'running')
  const route = await send(server, 'looking')
  await until(async () => (await read(server, route))['state'] === 'responded')
  expect(await read(server, route)).toMatchObject({ response: 'A cat.', parts: STORED })
})

it('parts of an HTTP agent reach readers while it works, and only its last attempt counts', async () => {
  const open: ServerResponse[] = []
  const agent = createServer((request, response) => {
    if (request.method === 'OPTIONS') return response.writeHead(204).end()
    open.push(response.writeHead(200, { 'content-type': 'text/event-stream' }))
    request.resume()
    return undefined
  }).listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const server = await realServer()
  onTestFinished(async () => {
    await server.dispose()
    agent.closeAllConnections()
    agent.close()
  })
  const url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}/`
  await server.api('POST', '/v1/agents', { name: 'remote', runtime: { kind: 'http', url } })
  const route = await send(server, 'remote')
  const write = (event: string, data: object) =>
    open.at(-1)?.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)

  await until(() => open.length === 1)
  write('part', { part: { type: 'data', name: 'void', data: 1 } })
  open[0]?.end() // Without an answer: the service tries again.
  await until(() => open.length === 2)
  for (const part of PARTS) write('part', { part })
  let text = ''
  const { body } = await server.api('GET', `${route}/stream`)
  for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(bytes).toString()
    if (text.includes('</script>') && !text.includes('event: message'))
      write('answer', { response: 'A cat.' })
  }
  expect(text).toContain('event: part')
  expect(await read(server, route)).toMatchObject({
    response: 'A cat.',
    parts: STORED,
    attempt: 2,
  })
})
