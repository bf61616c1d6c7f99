import { z } from 'zod'
import { textOf } from '../schemas.js'
import { variants } from './variants.js'
import { named } from './body.js'

const servicePrincipalSchema = named(
  'ServicePrincipal',
  { type: z.literal('service') },
  { description: 'The agent runs on behalf of the service.' },
)
const endUserId = z.string().meta({ ...textOf(256), examples: ['u-17'] })

/** Only for documents and types: the domain checks principals and has clearer messages. */
export const principalSchema = variants('type', [
  servicePrincipalSchema,
  named(
    'EndUserPrincipal',
    { type: z.literal('end_user'), endUserId },
    { description: 'The agent runs on behalf of an end user.' },
  ),
]).meta({
  id: 'ExecutionPrincipal',
  description: 'The agent runs on behalf of the service itself or of an end user.',
  examples: [{ type: 'end_user', endUserId: 'u-17' }],
})

export const principalRef = '#/components/schemas/ExecutionPrincipal'

export const defaultPrincipalSchema = variants('type', [
  servicePrincipalSchema,
  named(
    'DefaultEndUserPrincipal',
    { type: z.literal('end_user'), endUserId: endUserId.nullish() },
    { description: 'Each request must name its end user.' },
  ),
]).meta({
  id: 'DefaultExecutionPrincipal',
  description:
    'Used if a request has no principal. With `end_user`, every request must name its end user.',
  examples: [{ type: 'service' }],
})
