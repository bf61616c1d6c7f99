import { randomBytes } from 'node:crypto'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'

const storage = openSqliteStorage({ path: ':memory:' })
const http = outboundHttp({ guard: addressGuard({}) })
const agents = functionRuntime({ shout: ({ message }) => message.toUpperCase() })
const platform = nodePlatform({ masterKey: randomBytes(32) }) // keep yours: it seals the stored secrets
const service = createService({ ...platform, storage, sender: httpWebhookSender(http), runtimes: [agents] })
await service.start()

const project = (await service.projects.create({ name: 'demo' }))._unsafeUnwrap()
const owner = { projectId: project.id, agent: 'shouter' }
await service.agents.create({ ...owner, name: 'shouter', runtime: { kind: 'function', handler: 'shout' }, desiredState: 'running' })

const sent = await service.messages.send({ ...owner, sessionId: 'conversation-1', message: 'hello' })
console.log(sent.match(({ message }) => message.state, (error) => error))

await service.stop()
await Promise.all([storage.close(), http.close()])
