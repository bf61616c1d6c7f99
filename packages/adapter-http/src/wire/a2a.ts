import { z } from 'zod'
import { NO_NUL } from '../schemas.js'

const skill = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    tags: z.array(z.string()),
    examples: z.array(z.string()).optional(),
  })
  .meta({ id: 'A2aSkill' })

export const a2aSchema = z
  .object({
    enabled: z.boolean().meta({ description: 'Publishes the agent at the A2A endpoint.' }),
    description: z.string().optional().meta({ description: 'The description on the agent card.' }),
    skills: z
      .array(skill)
      .optional()
      .meta({ description: 'The skills on the agent card. Initially one, named like the agent.' }),
  })
  .meta({ id: 'A2aSetting' })

/** The setting in a request. Null counts as absent. */
export const newA2aSchema = a2aSchema
  .extend({
    description: z
      .string()
      .meta({ minLength: 1, pattern: NO_NUL, description: a2aSchema.shape.description.description })
      .nullish(),
    skills: a2aSchema.shape.skills.nullable(),
  })
  .meta({ id: 'NewA2aSetting' })
