import { EVENT_TYPE, EVENTS } from './message.mjs'

const manifest = import.meta.resolve('@org/agent-messaging-server/package.json')
// The benchmarks load the bundle, as the CLI does.
const { createServer } = await import(new URL('bundle/index.js', manifest).href)

const never = () => new Promise(() => undefined)
const KEY = 'the-api-key-of-the-benchmark'

/** Starts a complete server on `database` with an agent and webhooks. */
export async function openService({
  database,
  handler = 'echo',
  concurrency = 100,
  webhooks = [],
  enabled = true,
  publishes = false,
  ordering,
  agents,
  ...options
}) {
  const { service, storage, url, stop } = await createServer({
    port: 0,
    databasePath: database,
    masterKey: Buffer.alloc(32, 1),
    addresses: { allowLoopback: true, allowHttp: true },
    bootstrapApiKey: KEY,
    overrideGlobalObjects: true, // Like the CLI.
    agents: { never, ...agents },
    ...options,
  })
  const { projectId } = await service.host.authenticate({ key: KEY })
  const found = service.agents.get({ projectId, agent: 'bench' })
  const created = () => createAgent(service, { projectId, handler, concurrency })
  const agent = await found.catch(async () => (await created()).agent)
  const subscribe = async (projectId, urls) => {
    const ids = []
    const events = ['message.responded', EVENT_TYPE]
    for (const url of urls) {
      const given = { projectId, url, events, enabled, ordering }
      ids.push((await service.webhooks.create(given)).webhook.id)
    }
    return ids
  }
  const webhookIds = await subscribe(projectId, webhooks)
  /** Makes another project with an agent. Returns its caller. */
  const anotherProject = async ({ webhooks: urls = [] } = {}) => {
    const { id } = await service.projects.create({ name: 'another' })
    await createAgent(service, { projectId: id, handler, concurrency })
    await subscribe(id, urls)
    const permissions = ['project:message']
    const { key } = await service.keys.create({ projectId: id, name: 'bench', permissions })
    return callerOf(url, key)
  }
  return {
    service,
    storage,
    projectId,
    agent,
    webhookIds,
    stop,
    caller: callerOf(url, KEY, publishes ? EVENTS : undefined),
    anotherProject,
  }
}

const callerOf = (url, key, path = '/v1/agents/bench/messages') => ({
  url: url + path,
  headers: { authorization: `Bearer ${key}` },
})

const createAgent = (service, { projectId, handler, concurrency }) =>
  service.agents.create({
    projectId,
    name: 'bench',
    runtime: { kind: 'function', handler },
    desiredState: 'running',
    a2a: { enabled: true },
    concurrency,
  })
