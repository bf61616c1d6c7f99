import type { Project } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { z } from 'zod'
import { at, uuid, type BodyOf } from './body.js'

export const projectSchema = z
  .object({ id: uuid, name: z.string(), createdAt: at })
  .meta({ id: 'Project' })

export const projectBody = ({ id, name, createdAt }: Project): BodyOf<typeof projectSchema> => ({
  id,
  name,
  createdAt: toIso(createdAt),
})
