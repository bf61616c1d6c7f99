import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createService, functionRuntime, MessagingError } from '@org/agent-messaging-core'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { createHttpApp } from '@org/agent-messaging-adapter-http'
import {
  addressGuard,
  httpWebhookSender,
  outboundHttp,
} from '@org/agent-messaging-adapter-outbound'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'

const PLACE = Symbol.for('@org/example-embed-in-next')

/** Returns the service of this process. A global, because Next.js loads this module repeatedly. */
export const messaging = () => (globalThis[PLACE] ??= open().catch(retryLater))

/** Lets the next request start the service after a failed start. */
function retryLater(error) {
  globalThis[PLACE] = undefined
  throw error
}

/** Returns the master key of the file. The first start creates the file. */
function masterKeyIn(file) {
  if (!existsSync(file))
    writeFileSync(file, randomBytes(32), { mode: 0o600, flag: 'wx', flush: true })
  return readFileSync(file)
}

async function open() {
  // The folder has the database and its master key. Back up both: no other key opens the database.
  const folder = process.env.DATA ?? 'data'
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const platform = nodePlatform({ masterKey: masterKeyIn(path.join(folder, 'master-key')) })
  const storage = openSqliteStorage({ path: path.join(folder, 'messaging.db') })
  const http = outboundHttp({ guard: addressGuard({}) })
  const runtime = functionRuntime({ greet: ({ message }) => `Hello ${message}` })
  const service = createService({
    ...platform,
    storage,
    sender: httpWebhookSender(http),
    runtimes: [runtime],
  })
  async function close() {
    await service.stop()
    await Promise.all([http.close(), storage.close()])
  }
  try {
    await service.start()
    await setUp(service)
  } catch (error) {
    await close()
    throw error
  }

  // Set NEXT_MANUAL_SIG_HANDLE=true. Otherwise Next.js ends the process before the service stops.
  async function stop() {
    await close()
    console.log('the service has stopped')
    process.exit()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  return createHttpApp({ service, crypto: platform.crypto, newRequestId: randomUUID })
}

/** Creates the project, its agent and the API key, or finds the ones of the first start. */
async function setUp(service) {
  const { projects, agents, keys } = service
  const known = (await projects.list({ limit: 100 })).data.find(({ name }) => name === 'demo')
  const { id: projectId } = known ?? (await projects.create({ name: 'demo' }))
  const greet = { kind: 'function', handler: 'greet' }
  await agents.declare({ projectId, agents: [{ name: 'greeter', runtime: greet }] })
  const key = process.env.EXAMPLE_KEY // The API key of your servers, at least 20 characters.
  const permissions = ['project:message']
  await keys.create({ projectId, name: 'example', permissions, key }).catch(unlessTaken)
}

function unlessTaken(error) {
  if (!(error instanceof MessagingError && error.kind.endsWith('_taken'))) throw error
}
