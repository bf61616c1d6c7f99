import { type Agent, type AgentSettings, type CreatedAgent } from '@org/agent-messaging-core'
import {
  agentSettings,
  onBusyOf,
  toIso,
  type AgentState,
  type FailedAgent,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { answerFields } from '../described.js'
import { a2aSchema } from './a2a.js'
import { at, count, uuid, type BodyOf } from './body.js'
import { defaultPrincipalSchema } from './principal.js'
import { runErrorSchema } from './run.js'
import { shownRuntimeSchema } from './runtime.js'

const states = [
  'stopped',
  'starting',
  'running',
  'stopping',
  'error',
] as const satisfies readonly AgentState['kind'][]

const agentStateSchema = z.enum(states).meta({ id: 'AgentState' })

const described = answerFields<AgentSettings>(agentSettings)

export const agentSchema = z
  .object({
    id: uuid,
    ...described,
    name: z.string(),
    defaultExecutionPrincipal: defaultPrincipalSchema,
    runtime: shownRuntimeSchema,
    desiredState: z.enum(['running', 'stopped']).meta({
      description: 'The state that the service keeps the agent in, also after a restart.',
    }),
    state: agentStateSchema,
    lastError: runErrorSchema.optional().meta({ description: 'Present in state `error`.' }),
    failures: count
      .optional()
      .meta({ description: 'Failures in a row. Present in state `error`.' }),
    retryAt: at.optional().meta({
      description: 'The next start in state `error`. Absent if a person must start the agent.',
    }),
    a2a: a2aSchema.optional(),
    createdAt: at,
    updatedAt: at,
  })
  .meta({ id: 'Agent' })

export const createdAgentSchema = agentSchema
  .extend({
    signingSecret: z
      .string()
      .optional()
      .meta({ description: 'Signs the requests to the runtime. Shown only in this answer.' }),
  })
  .meta({ id: 'CreatedAgent' })

type AgentBody = BodyOf<typeof agentSchema>

export const agentBody = ({
  runtime,
  state,
  createdAt,
  updatedAt,
  ...agent
}: Agent): AgentBody => ({
  id: agent.id,
  name: agent.name,
  defaultExecutionPrincipal: agent.defaultExecutionPrincipal,
  // Only the public options. The runtime's adapter stores secret options separately.
  runtime: { kind: runtime.kind, ...runtime.options },
  desiredState: agent.desiredState,
  state: state.kind,
  ...(state.kind === 'error' && failureOf(state)),
  concurrency: agent.concurrency,
  maxAttempts: agent.maxAttempts,
  maxQueued: agent.maxQueued,
  onBusy: onBusyOf(agent),
  ...(agent.a2a && { a2a: agent.a2a }),
  createdAt: toIso(createdAt),
  updatedAt: toIso(updatedAt),
})

const failureOf = ({
  lastError,
  failures,
  retryAt,
}: FailedAgent): Pick<AgentBody, 'lastError' | 'failures' | 'retryAt'> => ({
  lastError,
  failures,
  ...(retryAt !== undefined && { retryAt: toIso(retryAt) }),
})

/** The only body that contains a new signing secret. */
export const createdAgentBody = ({
  agent,
  signingSecret,
}: CreatedAgent): BodyOf<typeof createdAgentSchema> => ({
  ...agentBody(agent),
  ...(signingSecret !== undefined && { signingSecret }),
})
