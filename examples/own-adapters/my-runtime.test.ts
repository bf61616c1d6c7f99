import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMessaging } from '@org/agent-messaging-node'
import { expect, it, onTestFinished } from 'vitest'
import { translatorRuntime } from './my-runtime.js'

it('an agent of my kind answers, and its failures are tried again', async () => {
  const statuses = [503, 200]
  const translator = createServer((request, response) => {
    const isRun = request.method === 'POST'
    response.writeHead(isRun ? (statuses.shift() ?? 500) : 200).end('Hallo')
  }).listen(0, '127.0.0.1')
  await once(translator, 'listening')
  onTestFinished(() => void translator.close())
  const baseUrl = `http://127.0.0.1:${(translator.address() as AddressInfo).port}`

  const runtime = { kind: 'translator', options: { to: 'de', key: 'secret' } }
  const messaging = await createMessaging({
    database: ':memory:',
    runtimes: [translatorRuntime(baseUrl)],
    agents: { german: { runtime: { kind: runtime.kind, ...runtime.options } } },
  })
  onTestFinished(() => messaging.stop())
  const hello = { agent: 'german', sessionId: 's', message: 'Hello' }
  const { messageId } = await messaging.messages.send(hello)
  const message = await messaging.messages.get({ agent: 'german', messageId })
  expect(message).toMatchObject({ attempt: 2, state: 'responded', response: 'Hallo' })

  const refused = messaging.agents.create({
    name: 'no-key',
    runtime: { kind: 'translator', to: 'fr' },
  })
  await expect(refused).rejects.toThrow('key is required')
})
