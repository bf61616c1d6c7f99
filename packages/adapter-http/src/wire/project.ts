import type { Project } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, uuid, type BodyOf } from './body.js'
import { sendLimitsSchema } from './send-limits.js'

export const projectSchema = z
  .object({
    id: uuid,
    name: z.string(),
    sendLimits: sendLimitsSchema.optional().meta({
      description: 'The own limits of the project. Absent: the limits of the server.',
    }),
    createdAt: at,
  })
  .meta({ id: 'Project' })

export const projectBody = ({
  id,
  name,
  sendLimits,
  createdAt,
}: Project): BodyOf<typeof projectSchema> => ({
  id,
  name,
  ...(sendLimits && { sendLimits }),
  createdAt: toIso(createdAt),
})
