import type { RunError } from '@org/agent-messaging-core'
import { z } from 'zod'
import { count } from './body.js'

const codes = [
  'RUNTIME_ERROR',
  'RUNTIME_TIMEOUT',
  'RUNTIME_LOST',
  'RUNTIME_EXITED',
  'RUNTIME_UNHEALTHY',
  'RESPONSE_INVALID',
  'CANCELLED',
  'QUESTION_INVALID',
  'INPUT_EXPIRED',
  'INPUT_WITHDRAWN',
  'INPUT_MISMATCH',
] as const satisfies readonly RunError['code'][]

export const runErrorSchema = z.object({ code: z.enum(codes), message: z.string() }).meta({
  id: 'RunError',
  description:
    'Why a run or an agent failed. The service sets the code. The message can come from the agent.',
})

/** The tokens of a run, as its runtime reports them. */
export const runUsageSchema = z
  .object({ inputTokens: count.optional(), outputTokens: count.optional() })
  .meta({ id: 'RunUsage', description: 'The tokens of a model, as the runtime reports them.' })
