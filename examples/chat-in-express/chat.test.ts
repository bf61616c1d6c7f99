import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'

it('the chat streams the answer, remembers its session, and stops', async () => {
  const PORT = String(await freePort())
  const chat = spawn(process.execPath, [fileURLToPath(new URL('server.mjs', import.meta.url))], {
    env: { ...process.env, PORT, DATABASE: ':memory:' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void chat.kill('SIGKILL'))
  await once(chat.stdout, 'data')
  const say = async (id: string, text: string, user = 'user-1'): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${PORT}/chat/${user}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, text }),
    })
    return (await response.text()).trim().split('\n\n').at(-1) ?? ''
  }
  expect(await say('1', 'Hello')).toBe('event: answer\ndata: "Turn 1. You said: Hello"')
  expect(await say('2', 'Bye')).toBe('event: answer\ndata: "Turn 2. You said: Bye"')
  expect(await say('2', 'Bye')).toBe('event: answer\ndata: "Turn 2. You said: Bye"') // sent again
  const others = await say('1', 'I am another user with this id', 'user-2')
  expect(others).toBe('event: answer\ndata: "Turn 1. You said: I am another user with this id"')
  chat.kill('SIGTERM')
  expect(await once(chat, 'exit')).toEqual([0, null])
})
