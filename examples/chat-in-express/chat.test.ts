import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'

const FILE = new URL('server.mjs', import.meta.url)
const PROGRAM = readFileSync(FILE, 'utf8')

/** Starts the chat, or a changed one. Sends texts to it. */
async function startedChat(program = PROGRAM) {
  const port = await freePort()
  const chat = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('.', FILE)),
    env: { ...process.env, PORT: String(port), DATABASE: ':memory:' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void chat.kill('SIGKILL'))
  await once(chat.stdout, 'data')
  const post = (id: string, message: string, user = 'user-1') =>
    fetch(`http://127.0.0.1:${port}/chat/${user}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, text: message }),
    })
  return { chat, post }
}

it('the chat streams the answer, remembers its session, and stops', async () => {
  const { chat, post } = await startedChat()
  const say = async (...message: Parameters<typeof post>): Promise<string> =>
    (await (await post(...message)).text()).trim().split('\n\n').at(-1) ?? ''
  expect(await say('1', 'Hello')).toBe('event: answer\ndata: "Turn 1. You said: Hello"')
  expect(await say('2', 'Bye')).toBe('event: answer\ndata: "Turn 2. You said: Bye"')
  expect(await say('2', 'Bye')).toBe('event: answer\ndata: "Turn 2. You said: Bye"') // sent again
  const others = await say('1', 'I am another user with this id', 'user-2')
  expect(others).toBe('event: answer\ndata: "Turn 1. You said: I am another user with this id"')
  chat.kill('SIGTERM')
  expect(await once(chat, 'exit')).toEqual([0, null])
})

it('the chat stops while an agent works for a reader, and ends the stream', async () => {
  const never = PROGRAM.replace(
    'for (const word of',
    'await new Promise(() => setInterval(() => undefined, 1_000))\n      for (const word of',
  ).replace('8_000', '100')
  const { chat, post } = await startedChat(never)
  const { body } = await post('1', 'Hello')
  const reader = body?.getReader()
  const piece = Buffer.from((await reader?.read())?.value ?? [])
  expect(String(piece)).toBe('data: "Turn 1. "\n\n')
  const exit = once(chat, 'exit')
  chat.kill('SIGTERM')
  expect(await reader?.read()).toEqual({ done: true, value: undefined })
  expect(await exit).toEqual([0, null])
})
