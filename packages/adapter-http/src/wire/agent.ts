import { type Agent, type CreatedAgent } from '@org/agent-messaging-core'
import {
  onBusyOf,
  toIso,
  type AgentState,
  type FailedAgent,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, count, uuid, type BodyOf } from './body.js'
import { defaultPrincipalSchema } from './principal.js'
import { runErrorSchema } from './run-error.js'

const states = [
  'stopped',
  'starting',
  'running',
  'stopping',
  'error',
] as const satisfies readonly AgentState['kind'][]

export const agentSchema = z
  .object({
    id: uuid,
    name: z.string(),
    defaultExecutionPrincipal: defaultPrincipalSchema,
    runtime: z.looseObject({ kind: z.string() }).meta({
      description:
        'Its kind and options. What is secret among them is shown as `{"set": true}`, or not at all.',
    }),
    desiredState: z
      .enum(['running', 'stopped'])
      .meta({ description: 'What is wanted, over restarts too.' }),
    state: z.enum(states).meta({ description: 'How far it has come.' }),
    lastError: runErrorSchema.optional().meta({ description: 'In state `error`.' }),
    failures: count.optional().meta({ description: 'In state `error`: how many in a row.' }),
    retryAt: at.optional().meta({
      description: 'In state `error`: when it is tried again. Absent when only a person can help.',
    }),
    concurrency: count.meta({ description: 'Runs at once, in each process.' }),
    maxAttempts: count.meta({ description: 'Runs of one message at most, crashes included.' }),
    maxQueued: count.meta({
      description: 'Messages of one session that may be ahead of a new one.',
    }),
    onBusy: z
      .enum(['queue', 'reject'])
      .meta({ description: 'The same in a word: `reject` is a `maxQueued` of 0.' }),
    createdAt: at,
    updatedAt: at,
  })
  .meta({ id: 'Agent' })

export const createdAgentSchema = agentSchema
  .extend({
    signingSecret: z
      .string()
      .optional()
      .meta({ description: 'Of a runtime that gets signed requests; shown this once.' }),
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
  // The options that the runtime's adapter keeps in the open; what it took for secret never leaves the service.
  runtime: { kind: runtime.kind, ...runtime.options },
  desiredState: agent.desiredState,
  state: state.kind,
  ...(state.kind === 'error' && failureOf(state)),
  concurrency: agent.concurrency,
  maxAttempts: agent.maxAttempts,
  maxQueued: agent.maxQueued,
  onBusy: onBusyOf(agent),
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

/** With the signing secret, if one was just made: it is shown this once. */
export const createdAgentBody = ({
  agent,
  signingSecret,
}: CreatedAgent): BodyOf<typeof createdAgentSchema> => ({
  ...agentBody(agent),
  ...(signingSecret !== undefined && { signingSecret }),
})
