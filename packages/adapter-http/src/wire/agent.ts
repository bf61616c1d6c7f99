import type { AgentSettings } from '@org/agent-messaging-core'
import { AGENT_STATES, agentSettings } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { answerFields } from '../described.js'
import { NO_NUL } from '../schemas.js'
import { at, count, uuid, named, namedEnum } from './body.js'
import { defaultPrincipalSchema } from './principal.js'
import { runErrorSchema } from './run.js'
import { shownRuntimeSchema } from './runtime.js'

const skill = named('A2aSkill', {
  id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  examples: z.array(z.string()).optional(),
})

const a2aSchema = named('A2aSetting', {
  enabled: z.boolean().describe('Publishes the agent at the A2A endpoint.'),
  description: z.string().optional().describe('The description on the agent card.'),
  skills: z
    .array(skill)
    .optional()
    .describe('The skills on the agent card. Initially one, named like the agent.'),
})

/** The setting in a request. Null counts as absent. */
export const newA2aSchema = a2aSchema
  .extend({
    description: z
      .string()
      .meta({ minLength: 1, pattern: NO_NUL, description: a2aSchema.shape.description.description })
      .nullish(),
    skills: a2aSchema.shape.skills.nullable(),
  })
  .meta({ id: 'NewA2aSetting' })

const agentStateSchema = namedEnum('AgentState', AGENT_STATES)

const described = answerFields<AgentSettings>(agentSettings)

export const agentSchema = named('Agent', {
  id: uuid,
  ...described,
  name: z.string(),
  defaultExecutionPrincipal: defaultPrincipalSchema,
  runtime: shownRuntimeSchema,
  desiredState: z
    .enum(['running', 'stopped'])
    .describe('The state that the service keeps the agent in, also after a restart.'),
  state: agentStateSchema,
  lastError: runErrorSchema.optional().describe('Present in state `error`.'),
  failures: count.optional().describe('Failures in a row. Present in state `error`.'),
  retryAt: at
    .optional()
    .describe('The next start in state `error`. Absent if a person must start the agent.'),
  a2a: a2aSchema.optional(),
  createdAt: at,
  updatedAt: at,
})

export const createdAgentSchema = agentSchema
  .extend({
    signingSecret: z
      .string()
      .optional()
      .describe('Signs the requests to the runtime. Shown only in this answer.'),
  })
  .meta({ id: 'CreatedAgent' })
