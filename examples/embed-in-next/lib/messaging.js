import { randomBytes, randomUUID } from 'node:crypto'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'

/** One for the process. The framework loads this module more than once, and anew while you develop: so it is kept outside of it. */
export const messaging = () => (globalThis.messaging ??= open())

async function open() {
  const platform = nodePlatform({ masterKey: randomBytes(32) })
  const storage = openSqliteStorage({ path: ':memory:' })
  const http = outboundHttp({ guard: addressGuard({}) })
  const agents = functionRuntime({ greet: ({ message }) => `Hello ${message}` })
  const service = createService({ ...platform, storage, sender: httpWebhookSender(http), runtimes: [agents] })
  await service.start()

  const { id: projectId } = (await service.projects.create({ name: 'demo' }))._unsafeUnwrap()
  const runtime = { kind: 'function', handler: 'greet' }
  await service.agents.create({ projectId, name: 'greeter', runtime, desiredState: 'running' })
  const key = process.env.EXAMPLE_KEY
  ;(await service.keys.create({ projectId, name: 'example', permissions: ['project:message'], key }))._unsafeUnwrap()

  // With NEXT_MANUAL_SIG_HANDLE=true the signal is left to us: else the framework would end the process in the middle of this.
  process.once('SIGTERM', async () => {
    await service.stop()
    await Promise.all([http.close(), storage.close()])
    console.log('the service has stopped')
    process.exit()
  })
  return createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID })
}
