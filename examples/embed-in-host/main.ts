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

const project = await service.projects.create({ name: 'demo' })
if (project.isErr()) throw new Error(project.error.kind)
const ref = { projectId: project.value.id, agent: 'shouter' }
const runtime = { kind: 'function', handler: 'shout' }
await service.agents.create({ projectId: ref.projectId, name: ref.agent, runtime })
const sent = await service.messages.send({ ...ref, sessionId: 'chat-1', message: 'hello' })
if (sent.isOk() && sent.value.message.state.kind === 'responded')
  console.log(sent.value.message.state.response)

await service.stop()
await Promise.all([http.close(), storage.close()])
