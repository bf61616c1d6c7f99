import { type A2aSetting, type AgentSettings } from '@org/agent-messaging-core'
import {
  agentSettings,
  isJsonObject,
  type DefaultExecutionPrincipal,
} from '@org/agent-messaging-core/runtime'
import { reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { basePathOf, replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { requestFields } from '../described.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import type { Env } from '../env.js'
import { answer, refuse } from '../errors.js'
import type { HttpDeps } from '../options.js'
import { agentRef, byActor } from '../path-id.js'
import { readJson } from '../read-json.js'
import {
  fieldsOf,
  forced,
  jsonObject,
  nullAsAbsent,
  oneOf,
  pageOf,
  paging,
  query,
  withoutNulls,
} from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { newA2aSchema } from '../wire/a2a.js'
import { agentBody, agentSchema, createdAgentBody, createdAgentSchema } from '../wire/agent.js'
import { pageBody, pageSchema } from '../wire/page.js'
import { defaultPrincipalSchema } from '../wire/principal.js'
import { runtimeRef } from '../wire/runtime.js'

const NAME = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$'
const described = requestFields<AgentSettings>(agentSettings)
const settings = fieldsOf({
  ...described,
  name: described.name.meta({ shown: { type: 'string', pattern: NAME } }),
  runtime: jsonObject
    .refine((sent): sent is AgentSettings['runtime'] => typeof sent['kind'] === 'string', {
      path: ['kind'],
      error: ({ input }) =>
        (input as { kind?: unknown }).kind === undefined ? 'is required' : 'must be a string',
    })
    .transform((sent) => withoutNulls(sent) as AgentSettings['runtime'])
    .meta({ shown: runtimeRef, examples: [{ kind: 'function', handler: 'echo' }] }),
  // Any other value: the service checks it and has the clearer messages.
  defaultExecutionPrincipal: z
    .custom<DefaultExecutionPrincipal>((sent) => sent !== null, 'must be an object')
    .transform((sent) =>
      isJsonObject(sent) ? (withoutNulls(sent) as DefaultExecutionPrincipal) : sent,
    )
    .meta({ shown: defaultPrincipalSchema })
    .optional(),
  // The service checks the fields.
  a2a: jsonObject
    .transform((sent) => withoutNulls(sent) as unknown as A2aSetting)
    .meta({ shown: newA2aSchema })
    .optional(),
})
const desiredState = oneOf(['running', 'stopped'])
  .optional()
  .meta({
    description:
      '`running`, the default, starts the agent. The response waits up to 10 seconds for the ' +
      'start, and shows its result.',
  })
const create = fieldsOf(nullAsAbsent({ ...settings.shape, desiredState })).meta({
  id: 'NewAgent',
  examples: [{ name: 'support', runtime: { kind: 'function', handler: 'echo' } }],
})
const change = settings.partial().meta({
  id: 'AgentChange',
  description: 'Absent fields do not change.',
  examples: [{ concurrency: 4 }],
})

export const agentRoutes = ({ service, maxBodyBytes, basePath }: HttpDeps) => {
  const mayManage = authorize(service, 'project:agents')
  return new Hono<Env>()
    .post(
      '/v1/agents',
      about.create,
      mayManage,
      readJson(maxBodyBytes),
      validBody(create),
      async (c) => {
        const projectId = c.get('projectId')
        const created = await service.agents.create(
          byActor(c, { projectId, ...c.req.valid('json') }),
        )
        if (created.isErr()) return refuse(c, created.error)
        const collection = `${basePathOf(c, { basePath, route: '/v1/agents' })}/v1/agents`
        return reply(c, 201, createdAgentBody(created.value), {
          Location: `${collection}/${created.value.agent.id}`,
        })
      },
    )

    .get('/v1/agents', about.list, mayManage, validQuery(query(paging)), (c) => {
      const found = service.agents.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return answer(c, 200, found, pageBody(agentBody))
    })

    .get('/v1/agents/:id', about.get, mayManage, (c) =>
      answer(c, 200, service.agents.get(agentRef(c)), agentBody),
    )

    .patch(
      '/v1/agents/:id',
      about.update,
      mayManage,
      readJson(maxBodyBytes),
      validBody(change),
      (c) => {
        const updated = service.agents.update(
          byActor(c, { ...agentRef(c), change: c.req.valid('json') }),
        )
        return answer(c, 200, updated, createdAgentBody)
      },
    )

    .delete('/v1/agents/:id', about.delete, mayManage, validQuery(forced), async (c) => {
      const force = c.req.valid('query').force === 'true'
      const deleted = await service.agents.delete(byActor(c, { ...agentRef(c), force }))
      return deleted.isErr() ? refuse(c, deleted.error) : replyEmpty(c)
    })

    .post('/v1/agents/:id/start', about.start, mayManage, (c) =>
      answer(c, 200, service.agents.start(byActor(c, agentRef(c))), agentBody),
    )

    .post('/v1/agents/:id/stop', about.stop, mayManage, (c) =>
      answer(c, 200, service.agents.stop(byActor(c, agentRef(c))), agentBody),
    )
}

const tag = 'Agents'
const changed = { description: 'The agent after the change', body: agentSchema }

const about = {
  create: describeRoute<Service['agents']['create']>({
    tag,
    operationId: 'createAgent',
    summary: 'Create an agent',
    refusals: { project_not_found: true, name_taken: true, too_many_agents: true },
    answers: {
      201: {
        description: 'The agent. Its signing secret, if it has one, is shown only here',
        body: createdAgentSchema,
        headers: ['Location'],
      },
    },
  }),
  list: describeRoute<Service['agents']['list']>({
    tag,
    operationId: 'listAgents',
    summary: 'List the agents of the project, newest first',
    answers: { 200: { description: 'One page', body: pageSchema(agentSchema) } },
  }),
  get: describeRoute<Service['agents']['get']>({
    tag,
    operationId: 'getAgent',
    summary: 'Read an agent',
    refusals: { agent_not_found: true },
    answers: { 200: { description: 'The agent', body: agentSchema } },
  }),
  update: describeRoute<Service['agents']['update']>({
    tag,
    operationId: 'updateAgent',
    summary: 'Change an agent',
    description: 'Changes the given fields. `runtime` can change only while the agent is stopped.',
    refusals: { agent_not_found: true, name_taken: true, agent_not_stopped: true },
    answers: {
      200: {
        description: 'The agent. A new signing secret is shown only here',
        body: createdAgentSchema,
      },
    },
  }),
  delete: describeRoute<Service['agents']['delete']>({
    tag,
    operationId: 'deleteAgent',
    summary: 'Delete an agent with its sessions and messages',
    refusals: { agent_not_found: true, agent_busy: true },
    answers: { 204: { description: 'The agent is deleted' } },
  }),
  start: describeRoute<Service['agents']['start']>({
    tag,
    operationId: 'startAgent',
    summary: 'Start an agent',
    description: 'The service keeps the agent running, also after a restart, until you stop it.',
    refusals: { agent_not_found: true },
    answers: { 200: changed },
  }),
  stop: describeRoute<Service['agents']['stop']>({
    tag,
    operationId: 'stopAgent',
    summary: 'Stop an agent',
    description: 'Current runs finish. Queued messages wait for the next start.',
    refusals: { agent_not_found: true },
    answers: { 200: changed },
  }),
}
