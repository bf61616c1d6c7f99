import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Permission } from '@org/agent-messaging-core'
import { createMessaging, type HttpOptions, type MessagingOptions } from '@org/agent-messaging-node'
import { expect, onTestFinished } from 'vitest'

/** Opens the service. The agent `slow` answers its second piece when the test calls `goOn`. */
export async function openDoor<Host>(
  options: HttpOptions<Host> = {},
  others: Partial<MessagingOptions> = {},
) {
  let goOn = () => {}
  const gate = new Promise<void>((resolve) => (goOn = resolve))
  const messaging = await createMessaging({
    database: ':memory:',
    agents: {
      echo: ({ message }) => message,
      async *slow() {
        yield 'one '
        await gate
        yield 'two'
      },
    },
    ...others,
  })
  onTestFinished(async () => {
    goOn()
    await messaging.stop()
  })
  const { projectId } = messaging
  const { keys } = messaging.service
  const keyWith = async (permissions: readonly Permission[]) =>
    (await keys.create({ projectId, name: 'a key', permissions })).key
  const key = await keyWith(['project:message', 'project:agents', 'project:erase'])
  return { messaging, http: await messaging.http(options), key, keyWith, goOn }
}

/** Serves a listener on a real socket. Returns its origin. */
export async function listen(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

export const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

/** A request that sends a message. */
export const sending = (key: string, message = 'Hello', headers: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { ...withKey(key).headers, 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ sessionId: 's1', message }),
})

/** Sends a message that has no answer yet, and opens its stream. */
export async function openStream(api: string, key: string) {
  const url = `${api}/v1/agents/slow/messages`
  const sent = await fetch(url, sending(key, 'go', { prefer: 'respond-async' }))
  const { messageId } = (await sent.json()) as { messageId: string }
  const stream = await fetch(`${url}/${messageId}/stream`, {
    headers: { ...withKey(key).headers, 'accept-encoding': 'gzip' },
  })
  expect(stream.status).toBe(200)
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  async function readUntil(part: string): Promise<string> {
    let text = ''
    while (!text.includes(part)) {
      const next = await reader?.read()
      if (next?.done !== false) throw new Error(`the stream ended without ${part}: ${text}`)
      text += next.value
    }
    return text
  }
  /** Reads until the end. */
  async function rest(): Promise<string> {
    let text = ''
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
      text += next.value
    return text
  }
  return { readUntil, rest, messageId, url }
}
