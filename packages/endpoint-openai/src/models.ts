import type { Agent } from '@org/agent-messaging-core'
import { isAgentName } from '@org/agent-messaging-core/runtime'
import { allowAccess, reply, type KitEnv } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { refuse } from './errors.js'
import type { Deps } from './options.js'

const PAGE = 100

const modelOf = ({ name, createdAt }: Agent) => ({
  id: name,
  object: 'model',
  created: Math.floor(createdAt / 1_000),
  owned_by: 'agent-messaging',
})

/** `/models`: the agents of the project. */
export const modelRoutes = (d: Deps) => {
  const { service } = d
  const access = allowAccess<KitEnv>(d, { permission: 'project:agents' }, refuse)
  return new Hono<KitEnv>()
    .get('/models', access, async (c) => {
      const agents: Agent[] = []
      for (let cursor: string | undefined; ;) {
        const page = { limit: PAGE, ...(cursor !== undefined && { cursor }) }
        const found = await service.agents.list(c.get('projectId'), page)
        if (found.isErr()) return refuse(c, found.error)
        agents.push(...found.value.data)
        if (found.value.nextCursor === null) break
        cursor = found.value.nextCursor
      }
      return reply(c, 200, { object: 'list', data: agents.map(modelOf) })
    })

    .get('/models/:model', access, async (c) => {
      const agent = c.req.param('model')
      if (!isAgentName(agent)) return refuse(c, { kind: 'agent_not_found' })
      const found = await service.agents.get({ projectId: c.get('projectId'), agent })
      return found.match(
        (value) => reply(c, 200, modelOf(value)),
        (error) => refuse(c, error),
      )
    })
}
