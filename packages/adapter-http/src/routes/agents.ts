import { type AgentSettings } from '@org/agent-messaging-core'
import { agentDefaults, type DefaultExecutionPrincipal } from '@org/agent-messaging-core/runtime'
import { Hono } from 'hono'
import { z } from 'zod'
import { located, reply, replyEmpty } from '../answer.js'
import { authorize } from '../authorize.js'
import { describeRoute, type Service } from '../document/describe-route.js'
import { refuse } from '../errors.js'
import type { Env } from '../env.js'
import type { HttpDeps } from '../options.js'
import { agentIn } from '../path-id.js'
import { readJson } from '../read-json.js'
import { forced, jsonObject, number, oneOf, pageOf, paging, text } from '../schemas.js'
import { validBody, validQuery } from '../validate.js'
import { agentBody, agentSchema, createdAgentBody, createdAgentSchema } from '../wire/agent.js'
import { pageBody, pageSchema } from '../wire/page.js'
import { defaultPrincipalSchema } from '../wire/principal.js'

// Not `default`: a change would seem to put it back.
const whole = (minimum: number, maximum: number, description: string) =>
  number.optional().meta({ shown: { type: 'integer', minimum, maximum }, description })

const settings = z.object(
  {
    name: text.meta({
      pattern: '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$',
      description: 'Unique in the project: 1 to 63 of a-z, 0-9 and -, and not like a UUID.',
      examples: ['support'],
    }),
    runtime: jsonObject
      .refine(
        (runtime): runtime is AgentSettings['runtime'] => typeof runtime['kind'] === 'string',
        'must have a kind, a string',
      )
      .meta({
        shown: {
          type: 'object',
          properties: { kind: { type: 'string' } },
          required: ['kind'],
          additionalProperties: true,
        },
        description: 'What runs it: its kind and the options of that kind.',
        examples: [{ kind: 'function', handler: 'echo' }],
      }),
    // Whatever was sent: the service's rule for it has the better words.
    defaultExecutionPrincipal: z
      .custom<DefaultExecutionPrincipal>()
      .optional()
      .meta({ shown: defaultPrincipalSchema }),
    concurrency: whole(
      1,
      1_000,
      `Runs at once, in each process. A new agent has ${agentDefaults.concurrency}.`,
    ),
    maxAttempts: whole(
      1,
      100,
      `Runs of one message at most, crashes included. A new agent has ${agentDefaults.maxAttempts}.`,
    ),
    maxQueued: whole(
      0,
      100_000,
      `Messages of its session that a new one may have ahead of it. A new agent has ${agentDefaults.maxQueued}.`,
    ),
    onBusy: oneOf(['queue', 'reject']).optional().meta({
      description:
        '`maxQueued` in a word: `reject` is 0, `queue` anything above. With both, they must agree.',
    }),
  },
  'must be a JSON object',
)
const create = settings
  .extend({ desiredState: oneOf(['running', 'stopped']).optional().meta({ default: 'stopped' }) })
  .meta({
    id: 'NewAgent',
    examples: [
      { name: 'support', runtime: { kind: 'function', handler: 'echo' }, desiredState: 'running' },
    ],
  })
const change = settings.partial().meta({
  id: 'AgentChange',
  description: 'What is absent stays as it is.',
  examples: [{ concurrency: 4 }],
})

export const agentRoutes = ({ service, maxBodyBytes }: HttpDeps) => {
  const mayManage = authorize(service, 'project:agents')
  return new Hono<Env>()
    .post(
      '/v1/agents',
      about.create,
      mayManage,
      readJson(maxBodyBytes),
      validBody(create),
      async (c) => {
        const created = await service.agents.create({
          projectId: c.get('projectId'),
          ...c.req.valid('json'),
        })
        if (created.isErr()) return refuse(c, created.error)
        return reply(c, 201, createdAgentBody(created.value), {
          Location: located(c, `/v1/agents/${created.value.agent.id}`),
        })
      },
    )

    .get('/v1/agents', about.list, mayManage, validQuery(z.object(paging)), async (c) => {
      const found = await service.agents.list(c.get('projectId'), pageOf(c.req.valid('query')))
      return found.isErr()
        ? refuse(c, found.error)
        : reply(c, 200, pageBody(found.value, agentBody))
    })

    .get('/v1/agents/:id', about.get, mayManage, async (c) => {
      const found = await service.agents.get({
        projectId: c.get('projectId'),
        agent: agentIn(c.req.param('id')),
      })
      return found.isErr() ? refuse(c, found.error) : reply(c, 200, agentBody(found.value))
    })

    .patch(
      '/v1/agents/:id',
      about.update,
      mayManage,
      readJson(maxBodyBytes),
      validBody(change),
      async (c) => {
        const which = { projectId: c.get('projectId'), agent: agentIn(c.req.param('id')) }
        const updated = await service.agents.update({ ...which, change: c.req.valid('json') })
        return updated.isErr()
          ? refuse(c, updated.error)
          : reply(c, 200, createdAgentBody(updated.value))
      },
    )

    .delete('/v1/agents/:id', about.delete, mayManage, validQuery(forced), async (c) => {
      const force = c.req.valid('query').force === 'true'
      const deleted = await service.agents.delete({
        projectId: c.get('projectId'),
        agent: agentIn(c.req.param('id')),
        force,
      })
      return deleted.isErr() ? refuse(c, deleted.error) : replyEmpty(c)
    })

    .post('/v1/agents/:id/start', about.start, mayManage, async (c) => {
      const started = await service.agents.start({
        projectId: c.get('projectId'),
        agent: agentIn(c.req.param('id')),
      })
      return started.isErr() ? refuse(c, started.error) : reply(c, 200, agentBody(started.value))
    })

    .post('/v1/agents/:id/stop', about.stop, mayManage, async (c) => {
      const stopped = await service.agents.stop({
        projectId: c.get('projectId'),
        agent: agentIn(c.req.param('id')),
      })
      return stopped.isErr() ? refuse(c, stopped.error) : reply(c, 200, agentBody(stopped.value))
    })
}

const tag = 'Agents'
const answer = { description: 'The agent as it is then', body: agentSchema }

const about = {
  create: describeRoute<Service['agents']['create']>({
    ...{ tag, operationId: 'createAgent', summary: 'Create an agent' },
    refusals: { name_taken: true, too_many_agents: true },
    answers: {
      201: {
        description: 'The agent; its signing secret, if it has one, is shown this once',
        body: createdAgentSchema,
        headers: ['Location'],
      },
    },
  }),
  list: describeRoute<Service['agents']['list']>({
    ...{ tag, operationId: 'listAgents', summary: 'List the agents of the project, newest first' },
    answers: { 200: { description: 'One page', body: pageSchema(agentSchema) } },
  }),
  get: describeRoute<Service['agents']['get']>({
    ...{ tag, operationId: 'getAgent', summary: 'Read an agent' },
    refusals: { agent_not_found: true },
    answers: { 200: { description: 'The agent', body: agentSchema } },
  }),
  update: describeRoute<Service['agents']['update']>({
    ...{ tag, operationId: 'updateAgent', summary: 'Change an agent' },
    description: 'Changes what is given; `runtime` only while the agent is stopped.',
    refusals: { agent_not_found: true, name_taken: true, agent_not_stopped: true },
    answers: {
      200: {
        description: 'The agent; a signing secret that was made for it is shown this once',
        body: createdAgentSchema,
      },
    },
  }),
  delete: describeRoute<Service['agents']['delete']>({
    ...{
      tag,
      operationId: 'deleteAgent',
      summary: 'Delete an agent with its sessions and messages',
    },
    refusals: { agent_not_found: true, agent_busy: true },
    answers: { 204: { description: 'It is gone' } },
  }),
  start: describeRoute<Service['agents']['start']>({
    ...{
      tag,
      operationId: 'startAgent',
      summary: 'Want an agent to run, from now on and over restarts',
    },
    refusals: { agent_not_found: true },
    answers: { 200: answer },
  }),
  stop: describeRoute<Service['agents']['stop']>({
    ...{ tag, operationId: 'stopAgent', summary: 'Want an agent to stop' },
    description: 'Running runs end by themselves; queued messages wait for the next start.',
    refusals: { agent_not_found: true },
    answers: { 200: answer },
  }),
}
