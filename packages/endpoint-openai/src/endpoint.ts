import type { Agent } from '@org/agent-messaging-core'
import { isAgentName } from '@org/agent-messaging-core/host'
import {
  allowAccess,
  endpointApp,
  type KitEnv,
  reply,
  withDefaults,
} from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { chatRoutes } from './chat.js'
import { refuse } from './errors.js'
import type { Deps, OpenAiEndpointOptions } from './options.js'
import { responseRoutes } from './responses/routes.js'

/**
 * Creates the routes under `/openai/v1`, for clients of OpenAI's API. Serve its `fetch`, or mount
 * the app in a Hono app with `host.route('/', createOpenAiEndpoint(…))`.
 */
export function createOpenAiEndpoint(options: OpenAiEndpointOptions): Hono {
  const d = withDefaults(options)
  const routes = new Hono<KitEnv>()
    .route('/', responseRoutes(d))
    .route('/', chatRoutes(d))
    .route('/', modelRoutes(d))
  return endpointApp(d, '/openai/v1', routes, refuse)
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
        const page = { limit: PAGE, cursor }
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
