import { randomBytes } from 'node:crypto'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'

const platform = nodePlatform({ masterKey: randomBytes(32) }) // keep yours: it seals the secrets in the file
const storage = openSqliteStorage({ path: ':memory:' }) // or a file
const http = outboundHttp({ guard: addressGuard({}) })
const agents = functionRuntime({ shout: ({ message }) => `${message.toUpperCase()}!` })
const service = createService({
  ...platform,
  storage,
  sender: httpWebhookSender(http),
  runtimes: [agents],
})
await service.start()

const { id: projectId } = (await service.projects.create({ name: 'demo' }))._unsafeUnwrap()
const runtime = { kind: 'function', handler: 'shout' }
await service.agents.create({ projectId, name: 'shouter', runtime, desiredState: 'running' })

const sent = await service.messages.send({
  projectId,
  agent: 'shouter',
  sessionId: 'conversation-1',
  message: 'hello',
})
if (sent.isOk() && sent.value.message.state.kind === 'responded')
  console.log(sent.value.message.state.response)

await service.stop()
await Promise.all([http.close(), storage.close()])
