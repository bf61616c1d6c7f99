import { RUN_ERROR_CODES } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { count } from './body.js'

export const runErrorSchema = z
  .object({ code: z.enum(RUN_ERROR_CODES), message: z.string() })
  .meta({
    id: 'RunError',
    description:
      'Why a run or an agent failed. The service sets the code. The message can come from the agent.',
  })

/** The tokens of a run, as its runtime reports them. */
export const runUsageSchema = z
  .object({ inputTokens: count.optional(), outputTokens: count.optional() })
  .meta({ id: 'RunUsage', description: 'The tokens of a model, as the runtime reports them.' })
