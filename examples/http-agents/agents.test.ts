import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { exampleServer } from '../../scripts/example-server.mjs'
import { freePort } from '../../scripts/free-port.mjs'
import { needs } from '../../scripts/test-needs.js'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
let example: Awaited<ReturnType<typeof exampleServer>>
beforeAll(async () => {
  example = await exampleServer()
})
afterAll(() => example.server.stop())

/** Creates an agent, starts its program as the docs say, and sends a message. */
async function answerOf(name: string, command: string, ...args: string[]): Promise<unknown> {
  const { api } = example
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const agent = { name, runtime: { kind: 'http', url }, desiredState: 'stopped' }
  const { signingSecret = '' } = await api('POST', '/v1/agents', agent)
  const child = spawn(command, args, {
    cwd: FOLDER,
    env: { ...process.env, PORT: String(port), SIGNING_SECRET: signingSecret },
    stdio: 'ignore',
    detached: true,
  })
  onTestFinished(() => void process.kill(-(child.pid ?? 0), 'SIGKILL'))
  const check = (body: string, headers = {}): Promise<number | undefined> =>
    fetch(url, { method: 'POST', body, headers }).then(
      ({ status }) => status,
      () => undefined,
    )
  await expect.poll(() => check('{"message":"forged"}'), { timeout: 200_000 }).toBe(401)
  expect(await check('{}', { 'x-service-signature': `sha256=${'0'.repeat(64)}` })).toBe(401)
  expect(await check('{}', { 'x-service-signature': 'sha256=' })).toBe(401)
  expect((await fetch(url, { method: 'OPTIONS' })).status).toBe(204)

  await api('POST', `/v1/agents/${name}/start`)
  await expect.poll(async () => (await api('GET', `/v1/agents/${name}`))['state']).toBe('running')
  const message = { sessionId: 's', message: 'grüß Gott' }
  return (await api('POST', `/v1/agents/${name}/messages`, message))['response']
}

describe('an HTTP agent', { timeout: 240_000 }, () => {
  it('in JavaScript verifies its requests and answers', async () => {
    expect(await answerOf('js', process.execPath, 'agent.mjs')).toBe('You say: grüß Gott')
  })
  it('in Python does the same', needs('python'), async () => {
    expect(await answerOf('python', 'python3', 'agent.py')).toBe('You say: grüß Gott')
  })
  it('in Go does the same', needs('go'), async () => {
    expect(await answerOf('go', 'go', 'run', 'agent.go')).toBe('You say: grüß Gott')
  })
})
