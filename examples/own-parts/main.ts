import { randomBytes } from 'node:crypto'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-adapter-outbound'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'

const platform = nodePlatform({ masterKey: randomBytes(32) }) // keep this key: it encrypts secrets
const storage = openSqliteStorage({ path: ':memory:' })
const http = outboundHttp({ guard: addressGuard({}) })
const runtimes = [functionRuntime({ shout: ({ message }) => `${message.toUpperCase()}!` })]
const sender = httpWebhookSender(http)
const service = createService({ ...platform, storage, sender, runtimes })
await service.start()

const { id: projectId } = await service.projects.create({ name: 'demo' })
const ref = { projectId, agent: 'shouter' }
const runtime = { kind: 'function', handler: 'shout' }
await service.agents.create({ projectId, name: ref.agent, runtime })
const hello = { ...ref, sessionId: 'chat-1', message: 'hello' }
const { message } = await service.messages.send(hello)
if (message.state.kind === 'responded') console.log(message.state.response)

await service.stop()
await Promise.all([http.close(), storage.close()])
