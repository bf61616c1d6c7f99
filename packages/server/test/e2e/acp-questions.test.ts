import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'

const AGENT = fileURLToPath(new URL('../../../runtime-process/test/acp-agent.mjs', import.meta.url))
const MESSAGES = '/v1/agents/coder/messages'

type Input = { readonly id: string; readonly question: string; readonly answer?: object }
type Message = {
  readonly state: string
  readonly response?: string
  readonly input?: Input
  readonly inputs?: readonly Input[]
}

/** Starts a server with an ACP agent whose permissions a person decides. */
async function serverWithCoder(): Promise<RealServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acp-questions-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const agentsFile = path.join(folder, 'agents.mjs')
  const coder = { command: process.execPath, args: [AGENT], permissions: 'ask' }
  await writeFile(agentsFile, `export const programs = { coder: ${JSON.stringify(coder)} }`)
  const server = await realServer({ args: ['--agents', agentsFile] })
  onTestFinished(() => server.dispose())
  const runtime = { kind: 'acp', program: 'coder' }
  await server.api('POST', '/v1/agents', { name: 'coder', runtime, desiredState: 'running' })
  await until(async () => (await read(server, '/v1/agents/coder')).state === 'running')
  return server
}

const read = async (server: RealServer, route: string): Promise<Message> =>
  (await (await server.api('GET', route)).json()) as Message

/** Sends a message. The send ends with 202 as soon as the question is stored. */
async function send(server: RealServer, message: string): Promise<string> {
  const body = { sessionId: 'session-1', message }
  const sent = await server.api('POST', MESSAGES, body, { prefer: 'wait=30' })
  expect(sent.status).toBe(202)
  const { messageId } = (await sent.json()) as { messageId: string }
  return `${MESSAGES}/${messageId}`
}

/** Answers the open question, and returns the message when it has changed. */
async function answer(server: RealServer, route: string, value: string): Promise<Message> {
  const { input } = await read(server, route)
  await server.api('POST', `${route}/input`, { inputId: input?.id, value })
  const isNext = ({ state, input: next }: Message): boolean =>
    state === 'responded' || (next !== undefined && next.id !== input?.id)
  expect(await until(async () => isNext(await read(server, route)))).toBe(true)
  return read(server, route)
}

it('a permission of an ACP agent waits for a person, and the same turn goes on', async () => {
  const server = await serverWithCoder()
  const route = await send(server, 'approve build test')
  expect(await answer(server, route, 'Once')).toMatchObject({ state: 'input_required' })
  const answered = await answer(server, route, 'No')
  expect(answered).toMatchObject({ response: 'Before. id of once. id of no.' })
  // The log follows up to 100 ms later.
  const asked = () => server.output().match(/"answer":"ask"/g) ?? []
  expect(await until(() => asked().length >= 2)).toBe(true)
  expect(asked()).toHaveLength(2)
})

it('a killed server uses the answers in a new turn and asks each question once', async () => {
  const server = await serverWithCoder()
  const route = await send(server, 'approve build test')
  await server.kill('SIGKILL')
  await server.start()
  expect(await answer(server, route, 'Once')).toMatchObject({ state: 'input_required' })
  await server.kill('SIGKILL')
  await server.start()
  const answered = await answer(server, route, 'No')
  expect(answered.response).toBe('Before. id of once. id of no.')
  expect(answered.inputs).toHaveLength(2)
})
