import type { Agent } from '@org/agent-messaging-core'
import { isAgentName, errorIn, isRefusal } from '@org/agent-messaging-core/host'
import {
  allowAccess,
  errorFor,
  exchange,
  type KitEnv,
  reply,
  withDefaults,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { chatRoutes } from './chat.js'
import { refuse } from './errors.js'
import type { Deps, OpenAiEndpointOptions } from './options.js'
import { responseRoutes } from './responses/routes.js'

const ROOT = '/openai/v1'

/**
 * Creates the routes under `/openai/v1`, for clients of OpenAI's API. Serve its `fetch`, or mount
 * the app in a Hono app with `host.route('/', createOpenAiEndpoint(…))`.
 */
export function createOpenAiEndpoint(options: OpenAiEndpointOptions): Hono {
  const d = withDefaults(options)
  const app = new Hono<KitEnv>()
  app.onError(async (error, c) => {
    // A request with a revoked key is refused for that reason, whatever else is wrong with it.
    if (isRefusal(error)) return refuse(c, await errorFor(c.get('requester'), errorIn(error)))
    d.onError?.(error, c.get('requestId'))
    return refuse(c, { kind: 'internal' })
  })
  app
    .use(`${ROOT}/*`, exchange(d))
    .route(ROOT, responseRoutes(d))
    .route(ROOT, chatRoutes(d))
    .route(ROOT, modelRoutes(d))
    .all(`${ROOT}/*`, (c) => refuse(c, { kind: 'route_not_found' }))
  // A host does not see the variables of the routes.
  return app as unknown as Hono
}

const PAGE = 100

const modelOf = ({ name, createdAt }: Agent) => ({
  id: name,
  object: 'model',
  created: Math.floor(createdAt / 1_000),
  owned_by: 'agent-messaging',
})

/** `/models`: the agents of the project. */
const modelRoutes = (d: Deps) => {
  const { service } = d
  const access = allowAccess<KitEnv>(d, { call: 'agents.list' }, refuse)
  return new Hono<KitEnv>()
    .get('/models', access, async (c) => {
      const agents: Agent[] = []
      for (let cursor: string | undefined; ;) {
        const page = { limit: PAGE, ...(cursor !== undefined && { cursor }) }
        const { data, nextCursor } = await service.agents.list({
          projectId: c.get('projectId'),
          ...page,
        })
        agents.push(...data)
        if (nextCursor === null) break
        cursor = nextCursor
      }
      return reply(c, 200, { object: 'list', data: agents.map(modelOf) })
    })

    .get('/models/:model', access, async (c) => {
      const agent = c.req.param('model')
      if (!isAgentName(agent)) return refuse(c, { kind: 'agent_not_found' })
      const found = await service.agents.get({ projectId: c.get('projectId'), agent })
      return reply(c, 200, modelOf(found))
    })
}
