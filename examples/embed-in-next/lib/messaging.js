import { randomBytes, randomUUID } from 'node:crypto'
import { createService, functionRuntime } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-http'
import { addressGuard, httpWebhookSender, outboundHttp } from '@org/agent-messaging-outbound'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'

const PLACE = Symbol.for('@org/example-embed-in-next')

/** One for the process. The framework loads this module more than once, and anew while you develop: so it is kept outside of it. */
export const messaging = () => (globalThis[PLACE] ??= open().catch(forget))

/** A start that failed is not kept: the next request tries again. */
function forget(error) {
  globalThis[PLACE] = undefined
  throw error
}

async function open() {
  // An example: keep a master key of yours and a file, and then this project is made once, not at each start.
  const platform = nodePlatform({ masterKey: randomBytes(32) })
  const storage = openSqliteStorage({ path: ':memory:' })
  const http = outboundHttp({ guard: addressGuard({}) })
  const agents = functionRuntime({ greet: ({ message }) => `Hello ${message}` })
  const service = createService({
    ...platform,
    storage,
    sender: httpWebhookSender(http),
    runtimes: [agents],
  })

  const { id: projectId } = (await service.projects.create({ name: 'demo' }))._unsafeUnwrap()
  const runtime = { kind: 'function', handler: 'greet' }
  await service.agents.create({ projectId, name: 'greeter', runtime, desiredState: 'running' })
  const key = process.env.EXAMPLE_KEY // what callers send: 20 characters or more, of your choice
  ;(
    await service.keys.create({ projectId, name: 'example', permissions: ['project:message'], key })
  )._unsafeUnwrap()
  await service.start()

  // With NEXT_MANUAL_SIG_HANDLE=true the signals are left to us: else the framework would end the process in the middle of this.
  async function stop() {
    await service.stop()
    await Promise.all([http.close(), storage.close()])
    console.log('the service has stopped')
    process.exit()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  return createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID })
}
