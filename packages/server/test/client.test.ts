import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ApiError, createClient, type Client, type StreamEvent } from '@org/agent-messaging-client'
import { memoryDedupe, nodeWebhookHandler } from '@org/agent-messaging-client/webhooks'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServer, type RunningServer } from '../src/index.js'
import { until } from './e2e/real-server.js'

const API_KEY = 'the-api-key-of-this-test'
let folder: string
let server: RunningServer
let client: Client
let proceed = (): void => undefined

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'agent-messaging-'))
  server = await createServer({
    port: 0,
    databasePath: path.join(folder, 'service.db'),
    masterKey: new Uint8Array(32),
    bootstrapApiKey: API_KEY,
    addresses: { allowLoopback: true, allowHttp: true },
    agents: {
      words: async function* () {
        yield 'one '
        await new Promise<void>((resolve) => (proceed = resolve))
        yield 'two'
      },
      failing: () => {
        throw new Error('I will not')
      },
    },
  })
  client = createClient({ baseUrl: server.url, apiKey: API_KEY })
  for (const handler of ['echo', 'words', 'failing']) {
    await client.agents.create({
      name: handler,
      runtime: { kind: 'function', handler },
      desiredState: 'running',
    })
  }
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('the client with a real server', () => {
  it('sends, reads, lists and completes', async () => {
    const sent = await client.messages.send('echo', { sessionId: 'a', message: 'hello' })
    expect(sent).toMatchObject({ status: 'responded', response: 'hello' })
    await client.messages.send('echo', { sessionId: 'a', message: 'again' })
    expect(await client.messages.get('echo', sent.messageId)).toMatchObject({
      sessionId: 'a',
      attempt: 1,
    })
    const texts: string[] = []
    for await (const { message } of client.messages.list('echo', { sessionId: 'a', order: 'asc' }))
      texts.push(message)
    expect(texts).toEqual(['hello', 'again'])
    const failed = await client.messages.complete('failing', { sessionId: 'a', message: 'please' })
    expect(failed).toMatchObject({ state: 'failed', error: { message: 'I will not' } })
  })
  it('reuses a message with its idempotency key, and rejects with the error of the service', async () => {
    const options = { idempotencyKey: 'order-42' }
    const first = await client.messages.send('echo', { sessionId: 'k', message: 'once' }, options)
    expect(
      await client.messages.send('echo', { sessionId: 'k', message: 'once' }, options),
    ).toEqual(first)
    const refused = client.messages.send('echo', { sessionId: '', message: 'x' })
    await expect(refused).rejects.toThrow(ApiError)
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: 'BAD_REQUEST',
      issues: [{ path: 'sessionId' }],
    })
  })
  it('streams a message again after a lost connection', async () => {
    const { messageId } = await client.messages.send(
      'words',
      { sessionId: 'w', message: 'go' },
      { waitSeconds: 0 },
    )
    const events: StreamEvent[] = []
    for await (const event of client.messages.stream('words', messageId)) {
      events.push(event)
      if (event.event === 'chunk') break
    }
    for await (const event of client.messages.stream('words', messageId)) {
      events.push(event)
      if (event.event === 'chunk' && event.offset === 0) proceed()
    }
    expect(events.flatMap((event) => (event.event === 'chunk' ? [event.text] : []))).toEqual([
      'one ',
      'one ',
      'two',
    ])
    expect(events.at(-1)).toMatchObject({
      event: 'message',
      message: { state: 'responded', response: 'one two' },
    })
  })
  it('cancels and retries a message, and erases a session', async () => {
    const { messageId } = await client.messages.send(
      'words',
      { sessionId: 'c', message: 'go' },
      { waitSeconds: 0 },
    )
    expect(await client.messages.cancel('words', messageId)).toMatchObject({ state: 'cancelled' })
    expect(await client.messages.retry('words', messageId)).toMatchObject({ state: 'queued' })
    const sessions: string[] = []
    for await (const { sessionId } of client.sessions.list('words')) sessions.push(sessionId)
    expect(sessions).toContain('c')
    await expect(client.sessions.erase('words', 'c')).rejects.toMatchObject({ status: 409 })
    await client.sessions.erase('words', 'c', { force: true })
    await expect(client.messages.get('words', messageId)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })
  it('counts and erases the messages of an end user', async () => {
    const executionPrincipal = { type: 'end_user', endUserId: 'a/b' } as const
    await client.messages.send(
      'words',
      { sessionId: 'of a/b', message: 'go', executionPrincipal },
      { waitSeconds: 0 },
    )
    await client.messages.send(
      'words',
      { sessionId: 'of a/b', message: 'go', executionPrincipal },
      { waitSeconds: 0 },
    )
    expect(await client.principals.count('a/b')).toMatchObject({ messages: 0, openMessages: 2 })
    expect(await client.principals.erase('a/b')).toMatchObject({ messages: 0, openMessages: 2 })
    expect(await client.principals.erase('a/b', { force: true })).toMatchObject({
      messages: 2,
      openMessages: 0,
    })
    expect(await client.principals.count('a/b')).toEqual({
      messages: 0,
      openMessages: 0,
      deliveries: 0,
      events: 0,
    })
  })
  it('registers a receiver that verifies deliveries before and after a rotation', async () => {
    const got: string[] = []
    const secrets: string[] = []
    const handle = nodeWebhookHandler({
      secret: secrets,
      dedupe: memoryDedupe(),
      on: { 'message.responded': ({ data }) => void got.push(data.response) },
    })
    const receiver = createHttpServer((request, response) => void handle(request, response)).listen(
      0,
      '127.0.0.1',
    )
    await once(receiver, 'listening')
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
    const webhook = await client.webhooks.create({ url, events: ['message.responded'] })
    secrets.push(webhook.secret)
    await client.messages.send('echo', { sessionId: 'v', message: 'signed' })
    expect(await until(() => got.length === 1)).toBe(true)
    const rotated = await client.webhooks.rotateSecret(webhook.id)
    secrets.splice(0, 1, rotated.secret)
    await client.messages.send('echo', { sessionId: 'v', message: 'signed again' })
    expect(await until(() => got.length === 2)).toBe(true)
    expect(got).toEqual(['signed', 'signed again'])
    const statuses = async () => {
      const all: string[] = []
      for await (const delivery of client.deliveries.list({ webhookId: webhook.id }))
        all.push(delivery.status)
      return all
    }
    expect(await until(async () => (await statuses()).join() === 'delivered,delivered')).toBe(true)
    await client.webhooks.delete(webhook.id)
    receiver.closeAllConnections()
    receiver.close()
  })
})
