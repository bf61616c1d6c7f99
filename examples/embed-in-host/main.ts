import { randomBytes } from 'node:crypto'
import { createService, functionRuntime, throwing } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'

const platform = nodePlatform({ masterKey: randomBytes(32) }) // Keep yours: the key encrypts secrets.
const storage = openSqliteStorage({ path: ':memory:' }) // Or the path of a file.
const http = outboundHttp({ guard: addressGuard({}) })
const runtime = functionRuntime({ shout: ({ message }) => `${message.toUpperCase()}!` })
const service = createService({
  ...platform,
  storage,
  sender: httpWebhookSender(http),
  runtimes: [runtime],
})
await service.start()

const { projects, agents, messages } = throwing(service)
const { id: projectId } = await projects.create({ name: 'demo' })
await agents.create({ projectId, name: 'shouter', runtime: { kind: 'function', handler: 'shout' } })

const { message } = await messages.send({
  projectId,
  agent: 'shouter',
  sessionId: 'conversation-1',
  message: 'hello',
})
if (message.state.kind === 'responded') console.log(message.state.response)

await service.stop()
await Promise.all([http.close(), storage.close()])
