import type { ProjectUsage } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { count, type BodyOf } from './body.js'

/** The tokens of a run, as its runtime reports them. */
export const runUsageSchema = z
  .object({ inputTokens: count.optional(), outputTokens: count.optional() })
  .meta({ id: 'RunUsage', description: 'The tokens of a model, as the runtime reports them.' })

const counts = {
  messages: count.meta({ description: 'Accepted messages.' }),
  runs: count.meta({ description: 'Runs whose outcome was stored.' }),
  deliveries: count.meta({ description: 'Deliveries that were delivered or exhausted.' }),
  attempts: count.meta({ description: 'Requests to webhooks.' }),
  bytesIn: count.meta({ description: 'Messages with their metadata, in UTF-8.' }),
  bytesOut: count.meta({ description: 'Answers, and the bodies of attempts, in UTF-8.' }),
  inputTokens: count.meta({ description: 'Tokens that runtimes report.' }),
  outputTokens: count.meta({ description: 'Tokens that runtimes report.' }),
}
const day = z.iso.date()

export const usageSchema = z
  .object({
    from: day,
    to: day,
    isCounted: z.boolean().meta({ description: 'False: the server does not count at this time.' }),
    total: z.object(counts).meta({ id: 'UsageCounts' }),
    days: z
      .array(z.object({ date: day, ...counts }).meta({ id: 'UsageOfDay' }))
      .meta({ description: 'The days with counts, oldest first.' }),
  })
  .meta({ id: 'Usage' })

export const usageBody = ({
  from,
  to,
  isCounted,
  total,
  days,
}: ProjectUsage): BodyOf<typeof usageSchema> => ({
  from: dateOf(from),
  to: dateOf(to),
  isCounted,
  total,
  days: days.map((one) => ({ date: dateOf(one.day), ...one.counts })),
})

const dateOf = (at: number): string => toIso(at).slice(0, 10)
