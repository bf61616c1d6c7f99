import type { MessageRun } from '@org/agent-messaging-core'
import { RUN_ERROR_CODES } from '@org/agent-messaging-core/runtime'
import { RUN_END_REASONS, withIso } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { at, count, type BodyOf, named } from './body.js'

export const runErrorSchema = named(
  'RunError',
  { code: z.enum(RUN_ERROR_CODES), message: z.string() },
  {
    description:
      'Why a run or an agent failed. The service sets the code. The message can come from the agent.',
  },
)

/** The tokens of a run, as its runtime reports them. */
export const runUsageSchema = named(
  'RunUsage',
  { inputTokens: count.optional(), outputTokens: count.optional() },
  { description: 'The tokens of a model, as the runtime reports them.' },
)

export const messageRunsSchema = named(
  'MessageRuns',
  {
    runs: z.array(
      named('MessageRun', {
        attempt: count.describe('A retry of the message starts again at 1.'),
        startedAt: at,
        endedAt: at.optional().describe('Absent while the run goes on.'),
        reason: z
          .enum(RUN_END_REASONS)
          .optional()
          .describe('Why the run ended. Absent while the run goes on.'),
        error: runErrorSchema.optional().describe('Present if the failure was reported.'),
        usage: runUsageSchema.optional(),
      }),
    ),
  },
  { description: 'The newest 100 runs that ended without an answer, and the run after them.' },
)

export const messageRunsBody = (runs: readonly MessageRun[]): BodyOf<typeof messageRunsSchema> => ({
  runs: runs.map(withIso),
})
