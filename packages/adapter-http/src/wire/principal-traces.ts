import { z } from 'zod'
import { count } from './body.js'

export const principalTracesSchema = z
  .object({
    messages: count,
    openMessages: count.meta({ description: 'Not final, and so kept.' }),
    deliveries: count,
    nextCursor: z
      .string()
      .nullable()
      .meta({ description: 'For `?cursor=`, to go on; null when nothing is left to look at.' }),
  })
  .meta({ id: 'PrincipalTraces', description: 'Of the rows that this request came by.' })
