import { z } from 'zod'

const service = z.strictObject({ type: z.literal('service') })
const endUserId = z.string().min(1).max(256)

/** S§2. Only for documents and types: the domain checks principals and has clearer messages. */
export const principalSchema = z
  .union([service, z.strictObject({ type: z.literal('end_user'), endUserId })])
  .meta({
    id: 'ExecutionPrincipal',
    description: 'The agent runs on behalf of the service itself or of an end user.',
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
      'Used if a request has no principal. With `end_user`, every request must name its end user.',
    examples: [{ type: 'service' }],
  })
