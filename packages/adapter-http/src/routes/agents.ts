import type { AgentSettings } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import {
  agentSettings,
  shownAgent,
  shownCreatedAgent,
  type A2aSetting,
} from '@org/agent-messaging-core/host'
import type { DefaultExecutionPrincipal } from '@org/agent-messaging-core/storage'
import { chain, reply } from '@org/agent-messaging-http-kit'
import { Hono } from 'hono'
import { z } from 'zod'
import { requestFields } from '../described.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentRef, byActor, locationOf, inProject } from '../path-id.js'
import { ownAnswers, routesOf, shown, shownPage, withoutBody } from '../route.js'
import { fieldsOf, forced, jsonObject, oneOf, page, withoutNulls, creationOf } from '../schemas.js'
import { agentSchema, createdAgentSchema, newA2aSchema } from '../wire/agent.js'
import { defaultPrincipalSchema } from '../wire/principal.js'
import { runtimeRef } from '../wire/runtime.js'

const described = requestFields<AgentSettings>(agentSettings)
const settings = fieldsOf({
  ...described,
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
  .describe(
    '`running`, the default, starts the agent. The response waits up to 10 seconds for the ' +
      'start, and shows its result.',
  )
const create = creationOf(
  'NewAgent',
  { ...settings.shape, desiredState },
  { examples: [{ name: 'support', runtime: { kind: 'function', handler: 'echo' } }] },
)
const change = settings.partial().meta({
  id: 'AgentChange',
  description: 'Absent fields do not change.',
  examples: [{ concurrency: 4 }],
})

export const agentRoutes = (d: HttpDeps) => {
  const { service, basePath } = d
  const route = routesOf(d, { tag: 'Agents' })
  return new Hono<Env>()
    .post(
      '/v1/agents',
      route(
        {
          operationId: 'createAgent',
          call: 'agents.create',
          summary: 'Create an agent',
          body: create,
          refusals: ['project_not_found', 'name_taken', 'too_many_agents'],
          answer: ownAnswers({
            201: {
              description: 'The agent. Its signing secret, if it has one, is shown only here',
              body: createdAgentSchema,
              headers: ['Location'],
            },
          }),
        },
        (c, sent) =>
          chain(service.agents.create(byActor(c, inProject(c, sent))), (created) => {
            const at = { route: '/v1/agents', id: created.agent.id }
            return reply(c, 201, shownCreatedAgent(created), locationOf(c, basePath, at))
          }),
      ),
    )
    .get(
      '/v1/agents',
      route(
        {
          operationId: 'listAgents',
          call: 'agents.list',
          summary: 'List the agents of the project, newest first',
          query: page,
          answer: shownPage(agentSchema, shownAgent),
        },
        (c, asked) => service.agents.list(inProject(c, asked)),
      ),
    )
    .get(
      '/v1/agents/:id',
      route(
        {
          operationId: 'getAgent',
          call: 'agents.get',
          summary: 'Read an agent',
          refusals: ['agent_not_found'],
          answer: shown('The agent', agentSchema, shownAgent),
        },
        (c) => service.agents.get(agentRef(c)),
      ),
    )
}

export const agentChangeRoutes = (d: HttpDeps) => {
  const { agents } = d.service
  const route = routesOf(d, { tag: 'Agents' })
  const afterChange = shown('The agent after the change', agentSchema, shownAgent)
  return new Hono<Env>()
    .patch(
      '/v1/agents/:id',
      route(
        {
          operationId: 'updateAgent',
          call: 'agents.update',
          summary: 'Change an agent',
          description:
            'Changes the given fields. `runtime` can change only while the agent is stopped.',
          body: change,
          refusals: ['agent_not_found', 'name_taken', 'agent_not_stopped'],
          answer: shown(
            'The agent. A new signing secret is shown only here',
            createdAgentSchema,
            shownCreatedAgent,
          ),
        },
        (c, sent) => agents.update(byActor(c, { ...agentRef(c), change: sent })),
      ),
    )
    .delete(
      '/v1/agents/:id',
      route(
        {
          operationId: 'deleteAgent',
          call: 'agents.delete',
          summary: 'Delete an agent with its sessions and messages',
          query: forced,
          refusals: ['agent_not_found', 'agent_busy'],
          answer: withoutBody('The agent is deleted'),
        },
        (c, { force }) => agents.delete(byActor(c, { ...agentRef(c), force: force === 'true' })),
      ),
    )
    .post(
      '/v1/agents/:id/start',
      route(
        {
          operationId: 'startAgent',
          call: 'agents.start',
          summary: 'Start an agent',
          description:
            'The service keeps the agent running, also after a restart, until you stop it.',
          refusals: ['agent_not_found'],
          answer: afterChange,
        },
        (c) => agents.start(byActor(c, agentRef(c))),
      ),
    )
    .post(
      '/v1/agents/:id/stop',
      route(
        {
          operationId: 'stopAgent',
          call: 'agents.stop',
          summary: 'Stop an agent',
          description: 'Current runs finish. Queued messages wait for the next start.',
          refusals: ['agent_not_found'],
          answer: afterChange,
        },
        (c) => agents.stop(byActor(c, agentRef(c))),
      ),
    )
}
