import { randomBytes, randomUUID } from 'node:crypto'
import { createService, functionRuntime, throwing } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'

const PLACE = Symbol.for('@org/example-embed-in-next')

/** Returns the service of this process. A global, because Next.js loads this module repeatedly. */
export const messaging = () => (globalThis[PLACE] ??= open().catch(retryLater))

/** Lets the next request start the service after a failed start. */
function retryLater(error) {
  globalThis[PLACE] = undefined
  throw error
}

async function open() {
  // In your app, keep the master key, use a file and create the project only once.
  const platform = nodePlatform({ masterKey: randomBytes(32) })
  const storage = openSqliteStorage({ path: ':memory:' })
  const http = outboundHttp({ guard: addressGuard({}) })
  const runtime = functionRuntime({ greet: ({ message }) => `Hello ${message}` })
  const service = createService({
    ...platform,
    storage,
    sender: httpWebhookSender(http),
    runtimes: [runtime],
  })
  await service.start()

  const { projects, agents, keys } = throwing(service)
  const { id: projectId } = await projects.create({ name: 'demo' })
  const greet = { kind: 'function', handler: 'greet' }
  await agents.create({ projectId, name: 'greeter', runtime: greet })
  const key = process.env.EXAMPLE_KEY // The callers' API key, at least 20 characters.
  await keys.create({ projectId, name: 'example', permissions: ['project:message'], key })

  // Set NEXT_MANUAL_SIG_HANDLE=true. Otherwise Next.js ends the process before the service stops.
  async function stop() {
    await service.stop()
    await Promise.all([http.close(), storage.close()])
    console.log('the service has stopped')
    process.exit()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  return createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID })
}
