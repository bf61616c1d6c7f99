import { z } from 'zod'

const service = z.strictObject({ type: z.literal('service') })
const endUserId = z.string().min(1).max(256)

/** S§2. For documents and types alone: what is sent is judged by the domain, which has the better words. */
export const principalSchema = z
  .union([service, z.strictObject({ type: z.literal('end_user'), endUserId })])
  .meta({
    id: 'ExecutionPrincipal',
    description: 'On whose behalf the agent runs.',
    examples: [{ type: 'end_user', endUserId: 'u-17' }],
  })

export const defaultPrincipalSchema = z
  .union([
    service,
    z.strictObject({ type: z.literal('end_user'), endUserId: endUserId.optional() }),
  ])
  .meta({
    id: 'DefaultExecutionPrincipal',
    description:
      'Counts when a request names none. With `end_user`, every request must name the end user.',
    examples: [{ type: 'service' }],
  })
